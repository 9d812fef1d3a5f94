"""Conversations, preferences and rewards, as JSON lines for trainers of audio language models."""

from __future__ import annotations

import json
import re
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
_TAG: Final = re.compile("<+(audio|image|video)>+")


def _ask(exchange: Exchange, recordings: int) -> dict[str, str]:
    """The turn of the user, after as many recordings."""
    return {"role": "user", "content": AUDIO * recordings + _drop_tags(exchange.prompt)}


def _answer(text: str) -> dict[str, str]:
    """A turn of the assistant."""
    return {"role": "assistant", "content": say(_drop_tags(text))}


def _drop_tags(text: str) -> str:
    """Text that stands for no recording, whatever a label or caption holds."""
    return _TAG.sub(r"\1", text)


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


class LlamaFactoryFormat(LinesFormat):
    """Rows that LLaMA-Factory reads, too.

    Attributes:
        layout: What its `dataset_info.json` says of each split.
    """

    layout: ClassVar[Mapping[str, Any]]

    def finish(self, whole: Whole, out: Writer) -> dict[str, int]:
        """With that file."""
        datasets = {
            f"{whole.corpus.name}_{split}": {"file_name": f"{split}.jsonl", **self.layout}
            for split in whole.splits
        }
        out.write("dataset_info.json", f"{json.dumps(datasets, indent=2)}\n".encode())
        return super().finish(whole, out)


# Conversations about recordings.


class Chat(LlamaFactoryFormat):
    """Conversations about recordings."""

    name: ClassVar[str] = "chat"
    version: ClassVar[int] = 3
    derived = ("conversations",)
    layout: ClassVar = {
        "formatting": "sharegpt",
        "columns": {"messages": "messages", "audios": "audios"},
        "tags": {
            "role_tag": "role",
            "content_tag": "content",
            "user_tag": "user",
            "assistant_tag": "assistant",
        },
    }

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
            yield "conversations", row | {"proofs": [exchange.to_json() for exchange in exchanges]}
        # Of samples without a pair of captions that oppose each other one is told all the same.
        counts[LEFT_OUT].update(contrasts.left_out)
        del counts[LEFT_OUT][DESCRIBE]


# Preferences: a proven answer and a refuted one to the same prompt.


class Preference(LlamaFactoryFormat):
    """Both sides of each contrast, against another answer and against another recording."""

    name: ClassVar[str] = "preference"
    version: ClassVar[int] = 3
    derived = ("text", "audio")
    files = ("{split}.jsonl", "{split}_audios.jsonl")
    layout: ClassVar = {
        "ranking": True,
        "columns": {
            "prompt": "query",
            "chosen": "response",
            "rejected": "rejected_response",
            "audios": "audios",
        },
    }

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


class Grpo(LinesFormat):
    """Scored prompts, each followed by its mirror, and the reward that scores completions."""

    name: ClassVar[str] = "grpo"
    version: ClassVar[int] = 2
    derived = ("prompts",)

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
