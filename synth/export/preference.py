"""Preferences: a proven answer and a refuted one to the same prompt, as JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from synth.base.rng import Randomness
from synth.derived.contrasts import Exchange, find_contrasts, say
from synth.derived.questions import Subject
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.chat import (
    LEFT_OUT,
    assistant,
    describe_export,
    user,
    write_counts,
)
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.export.questions import SEED, store_audio, subjects_of

_LAYOUT: Final = {
    "ranking": True,
    "columns": {
        "prompt": "query",
        "chosen": "response",
        "rejected": "rejected_response",
        "audios": "audios",
    },
}
_HOW: Final = """\
`SPLIT.jsonl` has a line per preference. The recordings prove the chosen answer and refute the
rejected one, however the words are read:

- `messages`, `audios`, `rejected_response`: for ms-swift. `<audio>` in a prompt stands for a
  recording; paths start at this folder.
- `query`, `response`, `rejected_response`, `audios`: for LLaMA-Factory, by `dataset_info.json`.
- `prompt`, `chosen`, `rejected`: messages for TRL, which knows no audio (1.16): a collator of
  your own puts the recordings of `audios` in place of `<audio>`.
- `id`, `kind`, `group`, `samples`; `proof`: the prompt, both answers, and what each claims of the
  samples, as JSON text in the form of the corpus's manifest. `others` are the samples of the
  mirror, of which the wrong answer is right.

`SPLIT_audios.jsonl` is for ms-swift alone: the answer stays, `rejected_audios` is a recording of
the same minimal-pair group of which it is refuted. Train on one file at a time: of two, ms-swift
(4.6) fills in the keys that one lacks, and stops at them.

Every line is followed by its mirror: the same prompt about other recordings (or two in the opposite
order), with chosen and rejected exchanged. So text alone tells them apart in half of all cases.
What finds no mirror is left out. The table counts the lines of `SPLIT.jsonl` (text) and of
`SPLIT_audios.jsonl` (audio); of `describe`, `which` and `difference` pairs of samples are left out,
of other kinds questions:

TABLE

    swift rlhf --rlhf_type dpo --dataset train.jsonl ...      # here, or with ROOT_IMAGE_DIR=FOLDER
    llamafactory-cli train ... --stage dpo --dataset_dir FOLDER --dataset CORPUS_train
    DPOTrainer(..., train_dataset=load_dataset("json", data_files="FOLDER/train.jsonl")["train"])
    segue audit MANIFEST --export FOLDER                      # prove every line again
"""


class Preference(ExportFormat):
    """JSON lines and the stored audio files."""

    name: ClassVar[str] = "preference"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files, and both sides of each contrast of this shard."""
        paths = store_audio(shard, out)
        about = {subject.id: subject for subject in subjects_of(shard)}
        made = find_contrasts([*about.values()], Randomness(SEED))
        counts: dict[str, Counter[str]] = {"text": Counter(), "audio": Counter()}
        numbers: Counter[str] = Counter()
        with out.piece("texts") as texts, out.piece("audios") as audios:
            for contrast in made.contrasts:
                first = contrast[0].samples[0]
                for side in contrast:
                    name = f"{first}-p{numbers[first]:03d}"
                    numbers[first] += 1
                    group = about[first].group
                    texts.write(json_line(text_row(name, group, side, paths)))
                    counts["text"][side.kind] += 1
                if all(_is_refuted_by_audio(side, about) for side in contrast):
                    for side in contrast:
                        name = f"{first}-p{numbers[first]:03d}"
                        numbers[first] += 1
                        audios.write(json_line(audio_row(name, group, side, paths)))
                        counts["audio"][side.kind] += 1
        write_counts(out, counts | {LEFT_OUT: made.left_out})

    def finish(self, whole: Whole, out: Writer) -> dict[str, int]:
        """Two files a split, and what LLaMA-Factory asks for."""
        for split in whole.splits:
            whole.join(out, f"{split}.jsonl", split, "texts")
            whole.join(out, f"{split}_audios.jsonl", split, "audios")
        return describe_export(whole, out, _HOW, _LAYOUT)


def text_row(name: str, group: str, exchange: Exchange, paths: Mapping[str, str]) -> dict[str, Any]:
    """A row whose rejected side is another answer."""
    asked = user(exchange.prompt, len(exchange.samples))
    chosen, rejected = assistant(say(exchange.answer)), assistant(say(exchange.wrong))
    return {
        **_head(name, group, exchange, [asked, chosen], paths),
        "rejected_response": rejected["content"],
        "prompt": [asked],
        "chosen": [chosen],
        "rejected": [rejected],
        "query": asked["content"],
        "response": chosen["content"],
        "proof": exchange.to_json(),
    }


def audio_row(
    name: str, group: str, exchange: Exchange, paths: Mapping[str, str]
) -> dict[str, Any]:
    """A row whose rejected side is other audio, of which the answer is refuted."""
    asked = user(exchange.prompt, len(exchange.samples))
    return {
        **_head(name, group, exchange, [asked, assistant(say(exchange.answer))], paths),
        "rejected_audios": [paths[sample] for sample in exchange.others],
        "proof": exchange.to_json(),
    }


def _head(
    name: str,
    group: str,
    exchange: Exchange,
    messages: list[dict[str, str]],
    paths: Mapping[str, str],
) -> dict[str, Any]:
    return {
        "id": name,
        "kind": exchange.kind,
        "group": group,
        "samples": list(exchange.samples),
        "messages": messages,
        "audios": [paths[sample] for sample in exchange.samples],
    }


def _is_refuted_by_audio(exchange: Exchange, subjects: Mapping[str, Subject]) -> bool:
    """Whether the answer is false of the other recordings, which must be of the same group."""
    about, others = ([subjects[i] for i in ids] for ids in (exchange.samples, exchange.others))
    if {subject.group for subject in about} != {subject.group for subject in others}:
        return False
    return any(
        subject.refutes(claim) for subject, claim in zip(others, exchange.claims, strict=True)
    )
