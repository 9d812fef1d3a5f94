"""An exchange: a prompt about recordings, the right answer, a wrong one, and what both claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from synth.base.errors import CorpusError
from synth.captions.caption import capitalise
from synth.derived.claims import read_claims
from synth.derived.questions.question import QuestionKind
from synth.scene.claim import Claim, claim_to_text

DESCRIBE: Final = "describe"
TIMESTAMPS: Final = "timestamps"
DIFFERENCE: Final = "difference"
WHICH: Final = "which"
KINDS: Final = (DESCRIBE, TIMESTAMPS, *(kind.value for kind in QuestionKind), DIFFERENCE, WHICH)
"""What is asked: a caption, dense captions, a question, or how two recordings differ; `which` of
two recordings a caption fits."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is asked of one recording, or of two in this order, and what may be answered.

    Args:
        kind: One of `KINDS`.
        prompt: The user's words.
        samples: Ids of the recordings.
        answer: The right answer; `said` of it is what the assistant says.
        claims: What it claims of each recording; none for dense captions, which are made anew.
        wrong: A wrong answer, "" where none is given.
        wrong_claims: What that claims of each recording.
        others: The recordings of which the wrong answer is right, in order.
    """

    kind: str
    prompt: str
    samples: tuple[str, ...]
    answer: str
    claims: tuple[Claim, ...]
    wrong: str = ""
    wrong_claims: tuple[Claim, ...] = ()
    others: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As values for JSON; claims are JSON text, as in the manifests."""
        return {
            "kind": self.kind,
            "prompt": self.prompt,
            "samples": list(self.samples),
            "answer": self.answer,
            "claims": [claim_to_text(claim) for claim in self.claims],
            "wrong": self.wrong,
            "wrong_claims": [claim_to_text(claim) for claim in self.wrong_claims],
            "others": list(self.others),
        }


Contrast: TypeAlias = tuple[Exchange, Exchange]
"""The same prompt about two recordings, or about two in either order; what is right of one is wrong
of the other."""


def say(answer: str) -> str:
    """An answer as a sentence."""
    return capitalise(answer if answer.endswith((".", "!", "?")) else f"{answer}.")


def exchange_from_json(value: Any) -> Exchange:
    """The exchange that `to_json` wrote; further keys do not count."""
    match value:
        case {"kind": str(kind), "prompt": str(prompt), "answer": str(answer), "wrong": str(wrong)}:
            samples, others = _read_texts(value, "samples"), _read_texts(value, "others")
            claims, wrong_claims = (
                read_claims(_read_texts(value, key)) for key in ("claims", "wrong_claims")
            )
            if kind in KINDS:
                return Exchange(kind, prompt, samples, answer, claims, wrong, wrong_claims, others)
    raise CorpusError(
        f"not a proof: {value!r}"[:300],
        fix="expected kind, prompt, samples, answer, claims, wrong, wrong_claims and others",
    )


def _read_texts(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = value.get(key)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise CorpusError(f"{key} is {found!r}"[:300], fix="expected a list of texts")
    return tuple(found)
