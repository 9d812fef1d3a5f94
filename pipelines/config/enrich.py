"""Enrich: a model's answers become captions of the samples that they were bought for.

Answers are files of `segue llm run` over this corpus's plan. Every one is put to the checks of its
prompt again, on the sample as it is planned now, so that answers about another plan are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.doors import open_regular, parse_json, require_regular
from synth.base.errors import PlanError, SegueError, SpecError, first_line
from synth.base.hashing import sha256_of
from synth.base.rng import digest
from synth.base.units import Frames
from synth.captions.caption import Caption, Provenance
from synth.corpus.schema import Sample
from synth.scene.claim import Claim, Not, claim_to_text
from synth.scene.edit import EditKind
from synth.scene.scene import parse

if TYPE_CHECKING:
    from synth.llm.prompt import Prompt, Verification

_EDITS: Final = {
    "order-negatives": EditKind.REORDER,
    "binding-negatives": EditKind.REBIND,
    "paraphrase": None,
    "rewrite": None,
}
"""By prompt, the edit of its captions, None for true ones."""
_ANSWERED: Final = "answered"
_MEND: Final = "run `segue llm run` on a plan of this spec without `enrich`, and give its file"


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model said of a sample.

    Args:
        verification: How the prompt's texts are verified, None if they are not.
    """

    prompt: Prompt
    value: Mapping[str, Any]
    provenance: Provenance
    path: Path
    row: Mapping[str, Any]
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class Enrichment:
    """The answers for a corpus.

    Args:
        audible: Shortest overlap that can be heard, in frames.
    """

    answers: Mapping[str, Sequence[ModelAnswer]]
    audible: Frames

    @classmethod
    def read(cls, paths: Sequence[Path], audible: Frames) -> Enrichment:
        """The answers of some files."""
        answers: dict[str, list[ModelAnswer]] = {}
        for path in paths:
            for name, answer in _read(path):
                answers.setdefault(name, []).append(answer)
        return cls(answers, audible)

    def refuse_strangers(self, samples: set[str]) -> None:
        """Check that every answer is of a sample of the plan."""
        for name, (first, *_) in self.answers.items():
            if name not in samples:
                raise PlanError(f"{first.path}: {name}: the plan has no such sample", fix=_MEND)

    def add_captions(self, sample: Sample) -> Sample:
        """The sample with the captions that were bought for it."""
        positives, negatives = list(sample.positives), list(sample.negatives)
        for answer in self.answers.get(sample.id, ()):
            original = self._check(answer, sample)
            edit = _EDITS[answer.prompt.id]
            contrary = negatives if edit is None else positives
            for text in answer.prompt.texts(answer.value):
                if any(caption.text == text for caption in contrary):
                    raise PlanError(
                        f"{answer.path}: {sample.id}: {text!r} would be both true and false of it",
                        fix="remove one of the files from `enrich`, or ask another model",
                    )
            texts = {sample.caption.text, *(caption.text for caption in (*positives, *negatives))}
            bought = _make_captions(answer, original, edit)
            (positives if edit is None else negatives).extend(
                caption for caption in bought if caption.text not in texts
            )
        return replace(sample, positives=tuple(positives), negatives=tuple(negatives))

    def _check(self, answer: ModelAnswer, sample: Sample) -> Caption:
        """The caption of the sample that an answer is about, if it fits."""
        captions = (sample.caption, *sample.positives)
        named = (caption for caption in captions if caption.text == answer.row["caption"])
        original = sample.caption if answer.verification is None else next(named, None)
        faults = [f"it has no true caption {answer.row.get('caption')!r}"]
        if original is not None:
            faults = self._find_faults(answer, sample, original)
            if not faults:
                return original
        raise PlanError(
            f"{answer.path}: {sample.id}: the answer does not fit the sample: {faults[0]}",
            fix=_MEND,
        )

    def _find_faults(self, answer: ModelAnswer, sample: Sample, original: Caption) -> list[str]:
        from synth.llm.checks.claim_checks import scene_fields
        from synth.llm.reply import PromptItem

        activity = [item.shift(-sample.lead) for item in sample.activity]  # on the scene's clock
        fields = {
            "caption": original.text,
            "claim": json.loads(claim_to_text(original.claim)),
            "sample_rate": sample.sample_rate,
            **{name: answer.row[name] for name in answer.prompt.file.deal},
            **scene_fields(sample.scene, activity, self.audible),
        }
        names = {*answer.prompt.file.fields, *answer.prompt.file.optional}
        item = PromptItem(sample.id, {name: fields[name] for name in names & fields.keys()})
        faults = answer.prompt.faults(item, answer.value)
        if faults or answer.verification is None:
            return faults
        reading = parse_json(answer.row["read"], f"{answer.path}: {sample.id}", refuse=PlanError)
        return answer.verification.faults(item, reading)


def enrichment_digest(paths: Sequence[Path]) -> str:
    """Of the files' content, "" for none."""
    if not paths:
        return ""
    try:
        return digest(*map(_hash, paths))
    except OSError as error:
        raise SpecError(
            f"enrich: {error.filename}: cannot be read: {error.strerror}", fix=_MEND
        ) from error


def _hash(path: Path) -> str:
    with open_regular(path, refuse=SpecError) as file:
        return sha256_of(file)


def _make_captions(
    answer: ModelAnswer, original: Caption, edit: EditKind | None
) -> Iterator[Caption]:
    """The captions of an answer about a caption.

    A negative that comes with its notation claims that; one without is false as far as the model
    and the checks can tell, and is written as the denial of the true caption.
    """
    notations = [
        negative.get("notation") if isinstance(negative, Mapping) else None
        for negative in answer.value.get("negatives", ())
    ]
    for number, text in enumerate(answer.prompt.texts(answer.value)):
        claim: Claim = original.claim
        if edit is not None:
            notation = notations[number] if number < len(notations) else None
            claim = parse(notation) if notation else Not(claim)
        yield Caption(text, claim, original.connective, answer.provenance, edit)


def _read(path: Path) -> Iterator[tuple[str, ModelAnswer]]:
    from synth.llm.prompt import load_prompt, load_verification

    try:
        table = pq.read_table(require_regular(path, refuse=SpecError))
    except (OSError, pa.ArrowException) as error:
        reason = first_line(error)
        raise SpecError(f"enrich: {path}: cannot be read: {reason}", fix=_MEND) from error
    facts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    task = facts.get("task", "")
    if task not in _EDITS:
        raise SpecError(
            f"enrich: {path}: not a file of answers to {', '.join(_EDITS)}"
            + (f", but to {task}" if task else ""),
            fix=_MEND,
        )
    try:
        prompt = load_prompt(task)
        verification = load_verification(prompt)
    except SegueError as error:
        raise SpecError(f"enrich: {path}: {error}") from error
    columns = () if verification is None else ("caption", "read", *prompt.file.deal)
    for name in columns:
        if name not in table.column_names:
            raise SpecError(f"enrich: {path}: column {name!r} is missing", fix=_MEND)
    for row in table.to_pylist():
        if row["status"] == _ANSWERED:
            value = parse_json(row["answer"], f"enrich: {path}: {row['id']}", refuse=SpecError)
            try:
                maker = Provenance.parse(str(row["generator"] or ""))
            except SpecError as error:
                raise SpecError(f"enrich: {path}: {row['id']}: {error}", fix=_MEND) from error
            yield row["id"], ModelAnswer(prompt, value, maker, path, row, verification)
