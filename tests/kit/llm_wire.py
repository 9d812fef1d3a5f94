"""The wire side of the language model on loopback: HTTP, streams, and faults on the line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from tests.kit.llm_server import LlmServer

Body = dict[str, Any]
FAULTS = ("timeout", "connection", "drop", "stream_error", "html", "no_finish", "stall")


class HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, llm: LlmServer) -> None:
        self.llm = llm
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: object) -> None:
        """A client that hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._route(b"")

    def do_POST(self) -> None:
        self._route(self.rfile.read(int(self.headers.get("content-length", 0))))

    def _route(self, data: bytes) -> None:
        llm, path = self.server.llm, self.path.partition("?")[0].removeprefix("/v1")
        with llm.lock:
            llm.paths.append(path)
        key = self.headers.get("authorization", "").removeprefix("Bearer ")
        if llm.key and key != llm.key:
            return self._json(*llm.error("auth", key))
        match path.strip("/").split("/"):
            case ["chat", "completions"]:
                self._chat(json.loads(data))
            case ["models"]:
                self._json(200, {"object": "list", "data": [{"id": "tiny", "object": "model"}]})
            case ["files"]:
                self._json(200, llm.add_file(_upload(data, self.headers["content-type"])))
            case ["files", name, "content"] if (content := llm.file(name)) is not None:
                self._send(200, content, "application/octet-stream")
            case ["batches"] if not data:
                self._list_batches()
            case ["batches"]:
                self._json(200, llm.start_batch(json.loads(data)))
            case ["batches", name] if (batch := llm.batch(name)) is not None:
                self._json(200, batch)
            case _:
                self._json(404, {"error": {"message": f"no {path}", "type": "not_found"}})
        return None

    def _list_batches(self) -> None:
        asked = dict(parse_qsl(self.path.partition("?")[2]))
        page = self.server.llm.batches(int(asked.get("limit", 20)), asked.get("after", ""))
        self._json(400 if "error" in page else 200, page)

    def _chat(self, body: Body) -> None:
        with self.server.llm.busy():
            time.sleep(self.server.llm.latency_s)
            self._answer(body)

    def _answer(self, body: Body) -> None:
        llm = self.server.llm
        if llm.raw is not None:
            llm.fault_of(body)
            return self._raw(*llm.raw)
        if wrong := llm.rejected(body):
            llm.requests[llm.body_hash(body)] += 1
            text = f"Unsupported parameter: '{wrong}'"
            return self._json(400, {"error": {"message": text, "param": wrong, "code": None}})
        fault = llm.fault_of(body)
        if llm.is_status(fault):
            headers = llm.retry_headers if fault in ("rate_limit", "server", "late") else {}
            return self._json(*llm.error(fault), headers)
        if fault in FAULTS:
            return self._wire_fault(body, fault)
        if not (body.get("stream") and llm.streams):
            return self._json(200, llm.completion(body, fault))
        if fault in ("whitespace", "repetition"):
            return self._runaway(body, " " * 40 if fault == "whitespace" else "no more, " * 4)
        return self._send(200, _events(llm.completion(body, fault), body), "text/event-stream")

    def _wire_fault(self, body: Body, fault: str) -> None:
        llm = self.server.llm
        self.close_connection = True
        if fault == "timeout":
            llm.stopping.wait(30)
        elif fault == "html":
            self._send(200, b"<html>Welcome to the hotel wireless</html>", "text/html")
        elif fault != "connection":
            head = {"choices": [{"index": 0, "delta": {"content": "You said"}}], "id": "c"}
            error = {"error": {"message": "upstream broke", "code": 502}}
            llm.bill(body, 2)
            data = _event(head) + (_event(error) if fault == "stream_error" else b"")
            missing = 0 if fault in ("stream_error", "no_finish") else 99
            self._send(200, data, "text/event-stream", missing=missing)
            if fault == "stall":
                llm.stopping.wait(30)

    def _runaway(self, body: Body, piece: str) -> None:
        """Writes without end, and bills what was written before the client hung up."""
        llm, written = self.server.llm, 0
        self.close_connection = True
        self._send(200, b"", "text/event-stream", missing=10**9)
        event = _event({"id": "c", "choices": [{"index": 0, "delta": {"content": piece}}]})
        try:
            while written < 20_000 and not llm.stopping.is_set():
                self.wfile.write(event)
                written += max(1, len(piece) // 4)
                time.sleep(0.001)
        except OSError:
            pass
        finally:
            llm.bill(body, written)

    def _raw(self, status: int, headers: dict[str, str], parts: Iterable[bytes]) -> None:
        """Sends until the client hangs up; counts the bytes that it took."""
        self.close_connection = True
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for part in parts:
                self.wfile.write(part)
                self.server.llm.sent += len(part)
        except OSError:
            pass

    def _json(self, status: int, body: Body, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", headers)

    def _send(
        self,
        status: int,
        data: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
        missing: int = 0,
    ) -> None:
        self.send_response(status)
        sent = {"content-type": kind, "content-length": str(len(data) + missing)}
        for name, value in (sent | {"x-request-id": "req-1"} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _event(value: Body) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _events(completion: Body, body: Body) -> bytes:
    """A completion as a stream of a few pieces."""
    choice = completion["choices"][0]
    base = {key: completion[key] for key in ("id", "created", "model")}
    base["object"] = "chat.completion.chunk"

    def pieces() -> Iterator[Body]:
        text = choice["message"]["content"]
        yield {"delta": {"role": "assistant", "content": ""}}
        if choice["message"]["refusal"]:
            yield {"delta": {"refusal": choice["message"]["refusal"]}}
        for part in re.findall(r"(?s).{1,40}", text):
            yield {"delta": {"content": part}}
        yield {"delta": {}, "finish_reason": choice["finish_reason"]}

    data = b"".join(_event(base | {"choices": [{"index": 0, **piece}]}) for piece in pieces())
    if (body.get("stream_options") or {}).get("include_usage") and "usage" in completion:
        data += _event(base | {"choices": [], "usage": completion["usage"]})
    return data + b"data: [DONE]\n\n"


def _upload(data: bytes, kind: str) -> bytes:
    """The file in a multipart form."""
    boundary = b"--" + kind.partition("boundary=")[2].strip('"').encode()
    part = next(part for part in data.split(boundary) if b'name="file"' in part)
    return part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")


def smallest(schema: Body) -> Any:
    """The smallest value that fits a schema of the strict kind."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: smallest(part) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [smallest(schema["items"])] * schema.get("minItems", 1)
    return {"string": "text", "integer": 0, "number": 0.0, "boolean": False}.get(kind)
