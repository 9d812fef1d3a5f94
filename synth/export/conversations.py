"""Conversations, preferences and rewards, as JSON lines for trainers of audio language models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, ClassVar, Final

from synth.derived.contrasts import DESCRIBE, find_contrasts, find_conversations, say
from synth.derived.questions import Exchange, Subject
from synth.derived.scoring import ScoredPrompt, find_scored
from synth.export.base import RANDOMNESS, Whole
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.export.lines import LEFT_OUT, Counts, LinesFormat, Rows

# What they share: rows, and files for their readers.


AUDIO: Final = "<audio>"
"""Stands for a recording in a prompt, as ms-swift and LLaMA-Factory have it."""


def _ask(exchange: Exchange, recordings: int) -> dict[str, str]:
    """The turn of the user, after as many recordings."""
    return {"role": "user", "content": AUDIO * recordings + exchange.prompt}


def _answer(text: str) -> dict[str, str]:
    """A turn of the assistant."""
    return {"role": "assistant", "content": say(text)}


def _make_row(
    name: str,
    kind: str,
    group: str,
    samples: Sequence[str],
    messages: Sequence[dict[str, str]],
    paths: Mapping[str, str],
) -> dict[str, Any]:
    return {
        "id": name,
        "kind": kind,
        "group": group,
        "samples": list(samples),
        "messages": list(messages),
        "audios": [paths[sample] for sample in samples],
    }


def _write_layout(whole: Whole, out: Writer, layout: Mapping[str, Any]) -> None:
    """Write `dataset_info.json`, by which LLaMA-Factory reads each split."""
    datasets = {
        f"{whole.corpus.name}_{split}": {"file_name": f"{split}.jsonl", **layout}
        for split in whole.splits
    }
    out.write("dataset_info.json", f"{json.dumps(datasets, indent=2)}\n".encode())


# Conversations about recordings.


_TURNS: Final = {
    "formatting": "sharegpt",
    "columns": {"messages": "messages", "audios": "audios"},
    "tags": {
        "role_tag": "role",
        "content_tag": "content",
        "user_tag": "user",
        "assistant_tag": "assistant",
    },
}
_CHAT_HOW: Final = """\
`SPLIT.jsonl` has a line per conversation; those of a sample follow each other:

- `messages`: turns of user and assistant. `<audio>` in the first stands for a recording, two of
  them for two.
- `audios`: the recordings; paths start at this folder.
- `id`, `kind`, `group`, `samples`; `proofs`: for each answer the prompt, what it claims of the
  samples, as JSON text in the form of the corpus's manifest, and a wrong answer with its claims.

`kind` is `describe` (a caption), `timestamps` (dense captions), a kind of question, `difference` or
`which` (of two recordings), or `conversation`: up to four questions about one recording. Each but
the first is asked, after the very same words, of another recording that answers it differently.

Each prompt but those of `describe` and `timestamps` is asked of two recordings (or of two in either
order) that answer it differently, as often with one answer as with the other. So text alone answers
none. What finds no such recording is left out; of `which` and `difference` pairs of samples are
counted, of other kinds questions:

TABLE

    swift sft --dataset train.jsonl ...                       # here, or with ROOT_IMAGE_DIR=FOLDER
    llamafactory-cli train ... --stage sft --dataset_dir FOLDER --dataset CORPUS_train
    SFTTrainer(..., train_dataset=load_dataset("json", data_files="FOLDER/train.jsonl")["train"])
    segue audit MANIFEST --export FOLDER                      # prove every line again

TRL knows no audio (1.16): a collator of your own puts the recordings in place of `<audio>`.
"""


class Chat(LinesFormat):
    """Conversations about recordings."""

    name: ClassVar[str] = "chat"
    version: ClassVar[int] = 2
    derived = ("conversations",)
    how = _CHAT_HOW

    def _derive(self, shard: Shard, paths: Mapping[str, str], counts: Counts) -> Rows:
        subjects = shard.subjects()
        contrasts = find_contrasts(subjects, RANDOMNESS, one_way=True)
        for conversation in find_conversations(subjects, contrasts.made, RANDOMNESS):
            exchanges = conversation.exchanges
            samples = exchanges[0].samples
            messages = []
            for place, exchange in enumerate(exchanges):
                messages.append(_ask(exchange, 0 if place else len(samples)))
                messages.append(_answer(exchange.answer))
                counts["answers"][exchange.kind] += 1
            about = conversation.id, conversation.kind, conversation.group
            row = _make_row(*about, samples, messages, paths)
            yield "conversations", row | {"proofs": [each.to_json() for each in exchanges]}
        # Of samples without a pair of captions that oppose each other one is told all the same.
        counts[LEFT_OUT].update(contrasts.left_out)
        del counts[LEFT_OUT][DESCRIBE]

    def finish(self, whole: Whole, out: Writer) -> dict[str, int]:
        """With what LLaMA-Factory asks for."""
        _write_layout(whole, out, _TURNS)
        return super().finish(whole, out)


# Preferences: a proven answer and a refuted one to the same prompt.


_RANKING: Final = {
    "ranking": True,
    "columns": {
        "prompt": "query",
        "chosen": "response",
        "rejected": "rejected_response",
        "audios": "audios",
    },
}
_PREFERENCE_HOW: Final = """\
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


class Preference(LinesFormat):
    """Both sides of each contrast, against another answer and against another recording."""

    name: ClassVar[str] = "preference"
    version: ClassVar[int] = 2
    derived = ("text", "audio")
    files = ("{split}.jsonl", "{split}_audios.jsonl")
    how = _PREFERENCE_HOW

    def _derive(self, shard: Shard, paths: Mapping[str, str], counts: Counts) -> Rows:
        subjects = {subject.id: subject for subject in shard.subjects()}
        contrasts = find_contrasts([*subjects.values()], RANDOMNESS)
        for column in (*self.derived, LEFT_OUT):
            counts[column] = Counter()
        counts[LEFT_OUT].update(contrasts.left_out)
        numbers: Counter[str] = Counter()
        for contrast in contrasts.made:
            first = subjects[contrast[0].samples[0]]
            by_audio = all(_is_refuted_by_audio(side, subjects) for side in contrast)
            for rejected in self.derived if by_audio else self.derived[:1]:
                for side in contrast:
                    name = f"{first.id}-p{numbers[first.id]:03d}"
                    numbers[first.id] += 1
                    counts[rejected][side.kind] += 1
                    yield rejected, _prefer(name, first.group, side, rejected, paths)

    def finish(self, whole: Whole, out: Writer) -> dict[str, int]:
        """With what LLaMA-Factory asks for."""
        _write_layout(whole, out, _RANKING)
        return super().finish(whole, out)


def _prefer(
    name: str, group: str, exchange: Exchange, rejected: str, paths: Mapping[str, str]
) -> dict[str, Any]:
    """A row whose rejected side is another answer (text), or other recordings (audio)."""
    samples, asked = exchange.samples, _ask(exchange, len(exchange.samples))
    chosen, wrong = _answer(exchange.answer), _answer(exchange.wrong)
    row = _make_row(name, exchange.kind, group, samples, [asked, chosen], paths)
    if rejected == "audio":
        row["rejected_audios"] = [paths[sample] for sample in exchange.others]
    else:
        row |= {
            "rejected_response": wrong["content"],
            "prompt": [asked],
            "chosen": [chosen],
            "rejected": [wrong],
            "query": asked["content"],
            "response": chosen["content"],
        }
    return row | {"proof": exchange.to_json()}


def _is_refuted_by_audio(exchange: Exchange, subjects: Mapping[str, Subject]) -> bool:
    """Whether the answer is false of the other recordings, which must be of the same group."""
    about, others = ([subjects[i] for i in ids] for ids in (exchange.samples, exchange.others))
    if {subject.group for subject in about} != {subject.group for subject in others}:
        return False
    return any(
        subject.refutes(claim) for subject, claim in zip(others, exchange.claims, strict=True)
    )


# Rewards: prompts whose answers a program scores.


_GRPO_HOW: Final = """\
`SPLIT.jsonl` has a line per prompt; `reward.py` scores what a model answers, and says at its head
how a completion must end:

- `messages`, `audios`: for ms-swift. `<audio>` in a prompt stands for the recording; paths start at
  this folder.
- `prompt`: the same messages for TRL, which knows no audio (1.16).
- `kind`: `answer` (one of two that are offered), `order`, `count`, `interval` (when a sound is
  heard), or `absent` (the same of a sound that only one of two recordings has).
- `solution`: the right answer, which scores 1; `rival`: a wrong one, which scores 0.
- `evidence`: of each sound that the answers are about, when it is heard, in seconds: not from its
  first sample to its last, but where it is loud enough. A sound without `spans` is not heard.
- `id`, `group`, `samples`; `proof`: the question's kind, the prompt, both answers, and what each
  claims of the sample, as JSON text in the form of the corpus's manifest. Of `interval` both claim
  that the sound is heard; `evidence` says when. `others` is the sample of the mirror.

Every line is followed by its mirror: the same prompt about another recording, with solution and
rival exchanged. Whatever a model answers by text alone, both rewards together are at most 1.
What finds no mirror is left out; of `order` and `interval` pairs of samples are counted, of other
kinds questions:

TABLE

    swift rlhf --rlhf_type grpo --dataset train.jsonl --external_plugins reward.py \\
        --reward_funcs segue ...                              # here, or with ROOT_IMAGE_DIR=FOLDER
    GRPOTrainer(..., reward_funcs=reward,                     # from reward import reward
        train_dataset=load_dataset("json", data_files="FOLDER/train.jsonl")["train"])
    segue audit MANIFEST --export FOLDER                      # prove every line again
"""


class Grpo(LinesFormat):
    """Scored prompts, each followed by its mirror, and the reward that scores completions."""

    name: ClassVar[str] = "grpo"
    version: ClassVar[int] = 1
    derived = ("prompts",)
    how = _GRPO_HOW

    def _derive(self, shard: Shard, paths: Mapping[str, str], counts: Counts) -> Rows:
        subjects = shard.subjects()
        groups = {subject.id: subject.group for subject in subjects}
        scored = find_scored(subjects, RANDOMNESS)
        counts["prompts"].update(prompt.kind for prompt in scored.made)
        counts[LEFT_OUT].update(scored.left_out)
        numbers: Counter[str] = Counter()
        for one, other in zip(scored.made[::2], scored.made[1::2], strict=True):
            (first,) = one.exchange.samples
            for prompt in (one, other):
                name = f"{first}-r{numbers[first]:03d}"
                numbers[first] += 1
                yield "prompts", _make_prompt(name, groups[first], prompt, paths)

    def finish(self, whole: Whole, out: Writer) -> dict[str, int]:
        """With the reward."""
        out.write("reward.py", files("synth.derived").joinpath("reward.py").read_bytes())
        return super().finish(whole, out)


def _make_prompt(
    name: str, group: str, prompt: ScoredPrompt, paths: Mapping[str, str]
) -> dict[str, Any]:
    exchange = prompt.exchange
    asked = [_ask(exchange, len(exchange.samples))]
    evidence = [{"sound": sound, "spans": times} for sound, times in prompt.evidence.items()]
    return _make_row(name, prompt.kind, group, exchange.samples, asked, paths) | {
        "prompt": asked,
        "solution": exchange.answer,
        "rival": exchange.wrong,
        "evidence": evidence,
        "proof": exchange.to_json(),
    }
