"""Reading an answer, whole or piece by piece, and telling when a model has run away."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from pipelines.llm.wire.errors import AttemptError, FaultKind, find_error, read_error
from pipelines.llm.wire.request import Reply, Request, Usage, bound_tokens, find_worst_usage
from synth.base.doors import parse_json
from synth.llm.reply import AnswerError

BLANKS: Final = 256
LONGEST_UNIT: Final = 100
REPEATED: Final = 600
REPEATS: Final = 20
_CHECK_EVERY: Final = 64
_BYTES_PER_TOKEN: Final = 12
_TOO_LONG: Final = "the answer is far longer than it was allowed to be"
_BODY_BYTES: Final = 4 * 2**20
_BODY_BYTES_PER_TOKEN: Final = 1024  # Each token may come as an event of its own.
_FINISHED_BADLY: Final = {
    "length": FaultKind.CUT_OFF,
    "max_tokens": FaultKind.CUT_OFF,
    "content_filter": FaultKind.CONTENT_FILTER,
    "error": FaultKind.SERVER,
    "insufficient_system_resource": FaultKind.SERVER,
}
_TOOLS: Final = ("tool_calls", "function_call")
_FIELD: Final = re.compile(rb"(?:data|event|id|retry)?:")
"""Begins a line of server-sent events."""
_DONE: Final = b"[DONE]"
_TEXTS: Final = ("text", "output_text")


def find_runaway(text: str, max_output_tokens: int) -> str:
    """Why `text` will not come to a sensible end; empty if it still may.

    Some endpoints pay no heed to what was asked for.
    """
    if len(text) - len(text.rstrip()) > BLANKS:
        return "nothing but white space follows"
    if len(text.encode()) > 2000 + _BYTES_PER_TOKEN * max_output_tokens:
        return _TOO_LONG
    for unit in range(1, LONGEST_UNIT + 1):
        span = max(REPEATED, REPEATS * unit)
        if len(text) >= span + unit and text[-span:] == text[-span - unit : -unit]:
            return "the answer repeats itself"
    return ""


class GatheredAnswer:
    """An answer as far as it has come."""

    def __init__(self, request: Request, clean: Callable[[str], str]) -> None:
        self.request = request
        self.opened = False
        self.request_id = ""
        self.runaway = ""
        self.fault: AttemptError | None = None
        self._clean = clean
        self._most = _BODY_BYTES + _BODY_BYTES_PER_TOKEN * request.max_output_tokens
        self._size = 0
        self._rest = b""
        self.is_done = self._is_stream = self._is_whole = False
        self._event: list[bytes] = []
        self._text = ""
        self._refusal = ""
        self._no_text = ""
        self._finish = ""
        self._model = ""
        self._id = ""
        self._checked = 0
        self._reported: object = None

    @property
    def is_over(self) -> bool:
        """Nothing that may follow is of use."""
        return self.fault is not None or bool(self.runaway)

    @property
    def is_complete(self) -> bool:
        """Only the end of the connection may be missing."""
        return bool(self._finish)

    def open(self, headers: Mapping[str, str]) -> None:
        """The answer begins."""
        self.opened = True
        self.request_id = headers.get("x-request-id", "")

    def feed(self, data: bytes) -> None:
        """Adds bytes of a body: server-sent events, or one completion in JSON."""
        self._size += len(data)
        if self._size > self._most:
            self.runaway = self.runaway or _TOO_LONG
        if self.is_over:
            return
        self._rest += data
        if self._is_whole or b"\n" not in data:
            return
        *lines, self._rest = self._rest.split(b"\n")
        for number, line in enumerate(lines):
            if not self._take_line(line):
                self._is_whole = True
                self._rest = b"\n".join([*lines[number:], self._rest])
                return

    def end(self) -> None:
        """The body has no more bytes."""
        if self.is_over:
            return
        if self._is_whole or not self._take_line(self._rest):
            self._parse(self._rest)
        self._take_line(b"")

    def _take_line(self, line: bytes) -> bool:
        """Reads a line of events; False for the first line of something else."""
        line = line.removeprefix(b"\xef\xbb\xbf").strip()
        if line.startswith(b"data:"):
            self._event.append(line[5:].strip())
        elif not line and self._event:
            data, self._event = b"\n".join(self._event), []
            self.is_done = self.is_done or data == _DONE
            if not self.is_done:
                self._parse(data)
        self._is_stream = self._is_stream or bool(_FIELD.match(line))
        return self._is_stream or not line

    def _parse(self, data: bytes) -> None:
        if data.lstrip()[:1] not in (b"{", b"["):  # A sign of life, or a page of a proxy.
            return
        try:
            self.take(parse_json(data, "the answer", refuse=AnswerError))
        except AnswerError as error:
            worst = find_worst_usage(self.request)
            self.fault = AttemptError(FaultKind.SERVER, self._clean(error.message), usage=worst)

    def take(self, body: object) -> None:
        """Adds a whole completion, or a piece of a streamed one."""
        if not isinstance(body, Mapping) or self.is_over:
            return
        self._id = self._id or self._name(body.get("id"))
        self._model = self._model or self._name(body.get("model"))
        self._reported = body.get("usage") or self._reported
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, Mapping):
            self._finish = self._name(choice.get("finish_reason")) or self._finish
            message = choice.get("delta") or choice.get("message")
            if isinstance(message, Mapping):
                self._refusal += str(message.get("refusal") or "")
                self._add(message.get("content"))
        error = find_error(body)
        if error is not None:
            kind, words = read_error(error)
            usage = self.find_usage() if self._text else self._read_usage()
            self.fault = AttemptError(kind, self._clean(words), usage=usage)

    def _name(self, value: object) -> str:
        return self._clean(value) if isinstance(value, str) else ""

    def _add(self, content: object) -> None:
        """Adds text, or the text among parts; thoughts are no part of the answer."""
        for part in content if isinstance(content, list) else [content]:
            match part:
                case None:
                    continue
                case str(text):
                    self._add_text(text)
                case {"text": str(text), **rest} if rest.get("type", "text") in _TEXTS:
                    self._add_text(text)
                case {"type": "refusal", "refusal": str(words)}:
                    self._refusal += words
                case {"type": str(kind)} if "think" in kind or "reason" in kind:
                    continue
                case _:
                    self._no_text = type(part).__name__

    def _add_text(self, text: str) -> None:
        self._text += text
        if len(self._text) - self._checked >= _CHECK_EVERY and not self.runaway:
            self._checked = len(self._text)
            self.runaway = find_runaway(self._text, self.request.max_output_tokens)

    def find_usage(self) -> Usage | None:
        """What the answer so far costs: as reported, else at its worst; None for nothing."""
        reported = self._read_usage()
        if reported is not None:
            return reported
        begun = self._text or self._refusal or self._no_text or self._finish or self._reported
        return find_worst_usage(self.request) if begun or self.runaway else None

    def _read_usage(self) -> Usage | None:
        """What was reported, if the request and its answer can have cost that."""
        usage = self._reported
        if not isinstance(usage, Mapping):
            return None
        sent, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
        cached = 0 if cached is None else cached
        if not (type(sent) is int and type(written) is int and type(cached) is int):
            return None
        is_possible = (
            0 <= cached <= sent
            and 0 < sent <= bound_tokens(self.request)
            and bool(self._text) <= written <= self.request.max_output_tokens
            and usage.get("total_tokens") in (None, sent + written)
        )
        return Usage(sent, written, cached) if is_possible else None

    def make_reply(self) -> Reply:
        """The answer, if it is complete."""
        fault = self.fault or self._find_fault()
        if fault is not None:
            raise fault
        return Reply(
            text=self._text,
            finish=self._finish,
            usage=self.find_usage() or find_worst_usage(self.request),
            model=self._model or self.request.model,
            request_id=self._name(self.request_id) or self._id,
        )

    def _find_fault(self) -> AttemptError | None:
        usage = self.find_usage()
        bad = _FINISHED_BADLY.get(self._finish.lower())
        if self.runaway and self._finish in ("", "length"):
            return AttemptError(FaultKind.RUNAWAY, self.runaway, usage=usage)
        if bad is not None:
            return AttemptError(bad, f"the model stopped with {self._finish!r}", usage=usage)
        if self._refusal:
            return AttemptError(FaultKind.REFUSAL, self._clean(self._refusal), usage=usage)
        if self._no_text and not self._text:
            words = f"the content is of type {self._no_text}, not text"
            return AttemptError(FaultKind.BAD_REQUEST, words, usage=usage)
        if not self._finish and not self._id and not self._text:
            return AttemptError(
                FaultKind.SERVER, "the answer is not a chat completion", usage=usage
            )
        if not self._finish:
            return AttemptError(FaultKind.CONNECTION, "the answer broke off", usage=usage)
        if not self._text.strip() and self._finish.lower() in _TOOLS:
            return AttemptError(FaultKind.REFUSAL, "the model called a tool instead", usage=usage)
        if not self._text.strip():
            return AttemptError(FaultKind.EMPTY, "the answer is empty", usage=usage)
        return None
