"""Reading an answer, whole or piece by piece, and telling when a model has run away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pipelines.llm.wire.errors import Fault, FaultKind
from pipelines.llm.wire.request import Reply, Request, estimate_tokens, estimate_usage
from pipelines.llm.wire.usage import Usage

BLANKS: Final = 256
LONGEST_UNIT: Final = 100
REPEATED: Final = 600
REPEATS: Final = 20
_CHECK_EVERY: Final = 64
_BYTES_PER_TOKEN: Final = 12
_FINISHED_BADLY: Final = {
    "length": FaultKind.CUT_OFF,
    "content_filter": FaultKind.CONTENT_FILTER,
    "error": FaultKind.SERVER,
    "insufficient_system_resource": FaultKind.SERVER,
}


def find_runaway(text: str, max_output_tokens: int) -> str:
    """Why `text` will not come to a sensible end; empty if it still may.

    Args:
        text: The answer so far.
        max_output_tokens: What was asked for; some endpoints pay no heed.
    """
    if len(text) - len(text.rstrip()) > BLANKS:
        return "nothing but white space follows"
    if len(text.encode()) > 2000 + _BYTES_PER_TOKEN * max_output_tokens:
        return "the answer is far longer than it was allowed to be"
    for unit in range(1, LONGEST_UNIT + 1):
        span = max(REPEATED, REPEATS * unit)
        if len(text) >= span + unit and text[-span:] == text[-span - unit : -unit]:
            return "the answer repeats itself"
    return ""


class GatheredAnswer:
    """An answer as far as it has come.

    Args:
        request: What was asked.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.opened = False
        self.request_id = ""
        self.runaway = ""
        self._text = ""
        self._refusal = ""
        self._finish = ""
        self._model = ""
        self._id = ""
        self._pieces = 0
        self._checked = 0
        self._usage: Usage | None = None

    def take(self, body: Mapping[str, Any]) -> None:
        """Adds a whole completion, or a piece of a streamed one."""
        self._id = self._id or str(body.get("id") or "")
        self._model = self._model or str(body.get("model") or "")
        self._usage = _parse_usage(body.get("usage")) or self._usage
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return
        choice = choices[0]
        self._finish = str(choice.get("finish_reason") or self._finish)
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, Mapping):
            self._refusal += str(message.get("refusal") or "")
            self._add(message.get("content"))

    def _add(self, content: object) -> None:
        if not isinstance(content, str) or not content:
            return
        self._text += content
        self._pieces += 1
        if len(self._text) - self._checked >= _CHECK_EVERY and not self.runaway:
            self._checked = len(self._text)
            self.runaway = find_runaway(self._text, self.request.max_output_tokens)

    def estimate_usage(self, *, timed_out: bool = False) -> Usage | None:
        """What the answer so far costs, reported or counted from above; None for nothing.

        Args:
            timed_out: Silence after the first sign of an answer may have been paid reasoning.
        """
        if self._usage is not None:
            return self._usage
        if self._text or self._refusal:
            written = estimate_tokens(self._text + self._refusal)
            allowed = min(written, self.request.max_output_tokens)
            return estimate_usage(self.request, max(self._pieces, allowed))
        if timed_out and self.opened:
            return estimate_usage(self.request, self.request.max_output_tokens)
        return None

    def make_reply(self, clean: Callable[[str], str]) -> Reply:
        """The answer, if it is complete.

        Args:
            clean: Takes keys out of text that goes into a message.

        Raises:
            Fault: It is not.
        """
        fault = self._find_fault(clean)
        if fault is not None:
            raise fault
        return Reply(
            text=self._text,
            finish=self._finish,
            usage=self.estimate_usage() or estimate_usage(self.request, 0),
            model=self._model or self.request.model,
            request_id=self.request_id or self._id,
        )

    def _find_fault(self, clean: Callable[[str], str]) -> Fault | None:
        usage = self.estimate_usage()
        bad = _FINISHED_BADLY.get(self._finish)
        if self.runaway and self._finish in ("", "length"):
            return Fault(FaultKind.RUNAWAY, self.runaway, usage=usage)
        if bad is not None:
            return Fault(bad, f"the model stopped with {self._finish!r}", usage=usage)
        if self._refusal:
            return Fault(FaultKind.REFUSAL, clean(self._refusal), usage=usage)
        if not self._finish and not self._id and not self._text:
            return Fault(FaultKind.SERVER, "the answer is no chat completion", usage=usage)
        if not self._finish:
            return Fault(FaultKind.CONNECTION, "the answer broke off", usage=usage)
        if not self._text.strip():
            return Fault(FaultKind.EMPTY, "the answer is empty", usage=usage)
        return None


def _parse_usage(usage: object) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    asked, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(asked, int) or not isinstance(written, int):
        return None
    return Usage(asked, written, cached if isinstance(cached, int) else 0)
