"""A real S3 server on loopback (moto's), and a door before it that counts, fails and shuts.

The server keeps its objects while the door is shut, as a store does that cannot be reached.
"""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.kit.ports import held_port
from tests.kit.waiting import PATIENCE_S, wait_for

Fault = Callable[["S3Request"], "S3Refusal | None"]
SECRET = "secret-of-the-test"
_HOP = {"connection", "keep-alive", "transfer-encoding", "server", "date"}


@dataclass(frozen=True)
class S3Request:
    method: str
    path: str


@dataclass(frozen=True)
class S3Refusal:
    status: int
    code: str


class Door:
    """Passes requests on to the server; `fault` may refuse them."""

    def __init__(self, behind: int, port: int) -> None:
        self.behind = behind
        self.port = port
        self.requests: list[S3Request] = []
        self.refused: list[S3Request] = []
        self.fault: Fault | None = None
        self._server: ThreadingHTTPServer | None = None
        self._open: set[socket.socket] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # A body goes out after its head: else it waits 40 ms for the head to be acknowledged.
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                door._open.add(self.connection)

            def finish(self) -> None:
                door._open.discard(self.connection)
                super().finish()

            def log_message(self, *_: Any) -> None:
                pass

            def _pass(self) -> None:
                door._answer(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815

        class Server(ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def shut(self) -> None:
        """Close the port and every connection: the store is gone."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            for connection in list(self._open):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def count(self, method: str, part: str) -> int:
        return sum(each.method == method and part in each.path for each in self.requests)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length) if length else b""
        if "chunked" in (handler.headers.get("Transfer-Encoding") or ""):
            body = b"".join(_chunks(handler))
        request = S3Request(handler.command, handler.path)
        refusal = self.fault(request) if self.fault else None
        if refusal is not None:
            self.refused.append(request)
            self._refuse(handler, refusal)
            return
        if self._is_overtaken(handler):
            self._refuse(handler, S3Refusal(412, "PreconditionFailed"))
            return
        headers = {k: v for k, v in handler.headers.items() if k.lower() not in _HOP}
        behind = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=PATIENCE_S)
        try:
            behind.request(handler.command, handler.path, body or None, headers)
            answer = behind.getresponse()
            data = answer.read()
        finally:
            behind.close()
        if answer.status < 300:
            self.requests.append(request)
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP and name.lower() != "content-length":
                handler.send_header(name, value)
        told = answer.getheader("Content-Length") if handler.command == "HEAD" else str(len(data))
        handler.send_header("Content-Length", told or "0")
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)

    def _is_overtaken(self, handler: BaseHTTPRequestHandler) -> bool:
        """What S3 looks at when an upload in parts is ended, and moto does not."""
        stamp = handler.headers.get("If-Match")
        if handler.command != "POST" or stamp is None:
            return False
        behind = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=PATIENCE_S)
        try:
            sender = {name: handler.headers[name] for name in ("Host", "Authorization")}
            behind.request("HEAD", handler.path.partition("?")[0], headers=sender)
            return behind.getresponse().getheader("ETag") != stamp
        finally:
            behind.close()

    def _refuse(self, handler: BaseHTTPRequestHandler, refusal: S3Refusal) -> None:
        data = (
            f"<?xml version='1.0'?><Error><Code>{refusal.code}</Code>"
            "<Message>refused by the test</Message></Error>"
        ).encode()
        handler.send_response(refusal.status)
        handler.send_header("Content-Type", "application/xml")
        handler.send_header("Content-Length", "0" if handler.command == "HEAD" else str(len(data)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)


def _chunks(handler: BaseHTTPRequestHandler) -> Iterator[bytes]:
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        yield handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()


@contextmanager
def running_server() -> Iterator[int]:
    """Moto's S3 server in a process of its own."""
    with held_port() as port:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:

            def answers() -> bool:
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", port)) == 0

            assert wait_for(lambda: process.poll() is not None or answers(), 0.05)
            assert process.poll() is None
            yield port
        finally:
            process.kill()
            process.wait()


class S3Store:
    """The server, the door before it, and buckets."""

    def __init__(self, port: int, door: Door) -> None:
        self.port = port
        self.door = door
        self._buckets = 0

    def bucket(self) -> str:
        """A new bucket's name."""
        self._buckets += 1
        name = f"bucket-{self._buckets}"
        self._ask("PUT", f"/{name}")
        return name

    def environment(self) -> dict[str, str]:
        """What a process needs to reach it; its secret must be seen nowhere."""
        return {
            "AWS_ENDPOINT_URL": self.door.url,
            "AWS_ACCESS_KEY_ID": "key-of-the-test",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "2",
        }

    def _ask(self, method: str, path: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path)
            assert connection.getresponse().status < 300
        finally:
            connection.close()


@contextmanager
def running_store() -> Iterator[S3Store]:
    with running_server() as port, held_port() as own:
        door = Door(port, own)
        door.start()
        try:
            yield S3Store(port, door)
        finally:
            door.shut()
