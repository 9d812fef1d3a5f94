"""A language model on loopback that speaks the OpenAI API and misbehaves on demand.

Answers come from a function of the request body. Faults come from a script, or by chance that is a
function of (seed, body, attempt) alone. All requests and all billed tokens are counted by body.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from synth.base.rng import digest, uniform_hash
from tests.kit import llm_wire

Body = dict[str, Any]
Raw = tuple[int, dict[str, str], Iterable[bytes]]
STATUS_FAULTS: dict[str, tuple[int, str, str]] = {
    "rate_limit": (429, "rate_limit_exceeded", "Rate limit reached"),
    "server": (503, "server_error", "The server is overloaded"),
    "late": (408, "request_timeout", "The model took too long"),
    "bad_request": (400, "invalid_request", "This request is wrong"),
    "auth": (401, "invalid_api_key", "Incorrect API key provided: {key}"),
    "quota": (429, "insufficient_quota", "You exceeded your current quota"),
    "quota_402": (402, "insufficient_balance", "Insufficient Balance"),
    "model": (404, "model_not_found", "The model does not exist"),
    "filter_400": (400, "content_filter", "The prompt was filtered"),
}
PASSING = ("rate_limit", "server", "timeout", "connection", "drop", "empty")


def echo(body: Body) -> str:
    """The default answer: prose made of the last message."""
    return "You said: " + body["messages"][-1]["content"][:200]


def tokens(text: str) -> int:
    """How this server counts."""
    return max(1, -(-len(text) // 4))


class LlmServer:
    """The server; a context manager.

    Args:
        answer: The text that answers a request body.
        script: The fault (a name, or "") of a request: a function of (body, attempt from 0), or
            names used up in order of arrival.
        fault_rate: Share of requests that meet one of `faults`, where there is no script.
        faults: Names of the faults that chance may pick.
        seed: Of that chance.
        latency_s: How long every answer takes.
        key: The only key accepted; empty for any.
        rejects: Parameters, or response formats, answered with status 400.
        ignores_format: Takes `response_format` and pays no heed.
        streams: Sends answers piece by piece when asked to.
        reports_usage: Says what an answer cost.
        retry_headers: Headers of "rate_limit", "server" and "late" answers.
        batch_polls: Polls before a batch is over.
        batch_end: "completed", "expired" (half the lines are done), "failed" or "cancelled".
        raw: Answers a request about items with this status, these headers, and these bytes.
    """

    def __init__(
        self,
        answer: Callable[[Body], str] = echo,
        *,
        script: Callable[[Body, int], str] | Iterable[str] = (),
        fault_rate: float = 0.0,
        faults: Collection[str] = PASSING,
        seed: int = 0,
        latency_s: float = 0.0,
        key: str = "",
        rejects: Collection[str] = (),
        ignores_format: bool = False,
        streams: bool = True,
        reports_usage: bool = True,
        retry_headers: dict[str, str] | None = None,
        batch_polls: int = 1,
        batch_end: str = "completed",
        raw: Raw | None = None,
    ) -> None:
        self.answer, self.key, self.latency_s = answer, key, latency_s
        self.script = script if callable(script) else _in_order(script)
        self.fault_rate, self.faults, self.seed = fault_rate, tuple(faults), seed
        self.rejects, self.ignores_format = frozenset(rejects), ignores_format
        self.streams, self.reports_usage = streams, reports_usage
        self.retry_headers = retry_headers or {}
        self.batch_polls, self.batch_end = batch_polls, batch_end
        self.raw, self.sent = raw, 0
        self.requests: dict[str, int] = defaultdict(int)
        self.billed: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.bodies: list[Body] = []
        self.paths: list[str] = []
        self._at_once = self.most_at_once = 0
        self._idle = threading.Event()
        self._idle.set()
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, Body] = {}

    def __enter__(self) -> Self:
        self._http = llm_wire.HttpServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._idle.wait(5)
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While one answer is being given: all bills are written when no one is busy."""
        with self.lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self._idle.clear()
        try:
            yield
        finally:
            with self.lock:
                self._at_once -= 1
                if not self._at_once:
                    self._idle.set()

    @property
    def base_url(self) -> str:
        """Address for the client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def billed_tokens(self) -> tuple[int, int]:
        """All input and output tokens billed so far."""
        bills = [bill for bills in self.billed.values() for bill in bills]
        return sum(bill[0] for bill in bills), sum(bill[1] for bill in bills)

    @staticmethod
    def body_hash(body: Body) -> str:
        """The name a body is counted under, streamed or not."""
        plain = {key: value for key, value in body.items() if not key.startswith("stream")}
        return digest(json.dumps(plain, sort_keys=True))

    def fault_of(self, body: Body) -> str:
        """Counts the request and says which fault it meets; empty for none."""
        name = self.body_hash(body)
        with self.lock:
            attempt = self.requests[name]
            self.requests[name] += 1
            self.bodies.append(body)
            scripted = self.script(body, attempt)
        if scripted:
            return scripted
        rest = (str(self.seed), name, str(attempt))
        if self.fault_rate and uniform_hash("fault", *rest) < self.fault_rate:
            return self.faults[int(uniform_hash("which", *rest) * len(self.faults))]
        return ""

    def rejected(self, body: Body) -> str:
        """The first thing in the body that this server does not take; empty for none."""
        kind = (body.get("response_format") or {}).get("type", "")
        return next((name for name in (*body, kind) if name in self.rejects), "")

    def completion(self, body: Body, fault: str) -> Body:
        """A whole completion, billed, with the fault in it."""
        text, finish, refusal = self._answer(body), "stop", None
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or 10**6
        if fault == "cut_off" or tokens(text) > limit:
            text, finish = text[: min(len(text) // 2, 4 * limit)], "length"
        elif fault == "content_filter":
            text, finish = text[:5], "content_filter"
        elif fault in ("tool_calls", "function_call"):
            text, finish = "", fault
        elif fault == "refusal":
            text, refusal = "", "I cannot help with that."
        elif fault in ("empty", "whitespace", "repetition"):
            text = {"empty": " ", "whitespace": "{" + " " * 900}.get(fault, "no more, " * 200)
            finish = "stop" if fault == "empty" else "length"
        message = {"role": "assistant", "content": text, "refusal": refusal}
        usage = self.bill(body, tokens(text + (refusal or "")))
        return {
            "id": "chatcmpl-" + self.body_hash(body)[:12],
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        } | ({"usage": usage} if self.reports_usage else {})

    def bill(self, body: Body, output: int) -> Body:
        """Writes tokens down and returns them in the API's words."""
        asked = sum(tokens(message["content"]) for message in body["messages"])
        with self.lock:
            self.billed[self.body_hash(body)].append((asked, output))
        counts = {"prompt_tokens": asked, "completion_tokens": output}
        details = {"prompt_tokens_details": {"cached_tokens": asked // 2}}
        return counts | {"total_tokens": asked + output} | details

    def _answer(self, body: Body) -> str:
        text = self.answer(body)
        shape = body.get("response_format") or {}
        if self.ignores_format or not shape:
            return text
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if shape["type"] == "json_schema":
            schema = shape["json_schema"]["schema"]
            fits = isinstance(value, dict) and set(schema.get("properties", {})) <= set(value)
            return text if fits else json.dumps(llm_wire.smallest(schema))
        return text if isinstance(value, dict) else json.dumps({"answer": text})

    def is_status(self, fault: str) -> bool:
        """The fault is an HTTP status."""
        return fault in STATUS_FAULTS

    def error(self, fault: str, shown_key: str = "") -> tuple[int, Body]:
        """Status and body of a fault that is a status; some endpoints repeat the key."""
        status, code, message = STATUS_FAULTS[fault]
        text = message.format(key=shown_key or self.key or "sk-secret")
        return status, {"error": {"message": text, "type": code, "param": None, "code": code}}

    def add_file(self, data: bytes) -> Body:
        """Keeps a file."""
        with self.lock:
            name = f"file-{len(self._files)}"
            self._files[name] = data
        return {"id": name, "object": "file", "bytes": len(data), "created_at": 0} | {
            "filename": "batch.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def file(self, name: str) -> bytes | None:
        """A file's bytes."""
        return self._files.get(name)

    def batches(self, limit: int = 20, after: str = "") -> Body:
        """A page of batches, newest first."""
        names = [*self._batches][::-1]
        start = names.index(after) + 1 if after in names else 0
        page = [self._batches[name] for name in names[start : start + limit]]
        return {"object": "list", "data": page, "has_more": start + limit < len(names)}

    def add_foreign_batches(self, count: int) -> None:
        """Batches that others have handed in."""
        for number in range(count):
            name = f"foreign_{number}"
            self._batches[name] = {"id": name, "object": "batch", "status": "completed"}

    def start_batch(self, asked: Body) -> Body:
        """Takes a batch on; its lines are worked off at once, its status follows the polls."""
        lines = [json.loads(line) for line in self._files[asked["input_file_id"]].splitlines()]
        batch = asked | {
            "id": f"batch_{len(self._batches)}",
            "object": "batch",
            "created_at": 0,
            "status": "validating",
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "polls": 0,
        }
        if self.batch_end == "failed":
            wrong = {"code": "invalid_json_line", "message": "line 1 is no JSON", "line": 1}
            batch["at_end"] = {"errors": {"object": "list", "data": [wrong]}}
        else:
            batch["at_end"] = self._worked_off(lines)
        self._batches[batch["id"]] = batch
        return batch

    def _worked_off(self, lines: list[Body]) -> Body:
        done = len(lines) if self.batch_end == "completed" else len(lines) // 2
        good, bad = [], []
        for index, line in enumerate(lines):
            row: Body = {"id": f"r{index}", "custom_id": line["custom_id"], "error": None}
            fault = self.fault_of(line["body"]) if index < done else ""
            if index >= done:
                code = f"batch_{self.batch_end}"
                bad.append(row | {"response": None, "error": {"code": code, "message": code}})
            elif fault in STATUS_FAULTS:
                status, body = self.error(fault)
                bad.append(row | {"response": {"status_code": status, "body": body}})
            else:
                body = self.completion(line["body"], fault)
                good.append(row | {"response": {"status_code": 200, "body": body}})
        counts = {"total": len(lines), "completed": len(good), "failed": len(bad)}
        end: Body = {"request_counts": counts}
        for name, rows in (("output_file_id", good[::-1]), ("error_file_id", bad)):
            if rows:
                text = "".join(json.dumps(row) + "\n" for row in rows)
                end[name] = self.add_file(text.encode())["id"]
        return end

    def batch(self, name: str) -> Body | None:
        """A batch as a poll sees it."""
        batch = self._batches.get(name)
        if batch is not None:
            batch["polls"] += 1
            over = batch["polls"] > self.batch_polls
            batch["status"] = self.batch_end if over else "in_progress"
            batch |= batch["at_end"] if over else {}
        return batch


def _in_order(names: Iterable[str]) -> Callable[[Body, int], str]:
    left = iter(names)
    return lambda body, attempt: next(left, "")
