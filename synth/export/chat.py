"""Conversations about recordings, as JSON lines for trainers of audio language models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from synth.base.rng import Randomness
from synth.derived.contrasts import (
    DESCRIBE,
    KINDS,
    Conversation,
    find_contrasts,
    find_conversations,
    say,
)
from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import Shard
from synth.export.questions import SEED, store_audio, subjects_of

# What the exports `chat` and `preference` share: rows, counts, and files for their readers.


AUDIO: Final = "<audio>"
"""Stands for a recording in a prompt, as ms-swift and LLaMA-Factory have it."""

LEFT_OUT: Final = "left out"


def user(prompt: str, recordings: int = 0) -> dict[str, str]:
    """A turn of the user, after as many recordings."""
    return {"role": "user", "content": AUDIO * recordings + prompt}


def assistant(text: str) -> dict[str, str]:
    """A turn of the assistant."""
    return {"role": "assistant", "content": text}


def write_counts(out: Writer, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Note how many rows of each kind a shard has, by column of the README's table."""
    with out.piece("counts") as facts:
        facts.write(json_line({column: dict(kinds) for column, kinds in counts.items()}))


def sum_counts(whole: Whole) -> dict[str, Counter[str]]:
    """The counts of all shards."""
    found: dict[str, Counter[str]] = {}
    for split in whole.splits:
        for counts in whole.values(split, "counts"):
            for column, kinds in counts.items():
                found.setdefault(column, Counter()).update(kinds)
    return found


def tabulate(counts: Mapping[str, Mapping[str, int]], kinds: Iterable[str] = KINDS) -> str:
    """Counts by kind as a table in Markdown; kinds without any are left out."""
    lines = [f"| kind | {' | '.join(counts)} |", "|---|" + "---:|" * len(counts)]
    for kind in kinds:
        numbers = [column.get(kind, 0) for column in counts.values()]
        if any(numbers):
            lines.append(f"| {kind} | {' | '.join(f'{number:,}' for number in numbers)} |")
    return "\n".join(lines)


def describe_export(
    whole: Whole, out: Writer, how: str, layout: Mapping[str, Any]
) -> dict[str, int]:
    """Write README and `dataset_info.json`; the rows of each column of the README's table.

    Args:
        how: As `Whole.readme` takes it, with TABLE and CORPUS to be filled in.
        layout: What LLaMA-Factory is told of each split.
    """
    _write_dataset_info(whole, out, layout)
    counts = sum_counts(whole)
    whole.readme(out, how.replace("TABLE", tabulate(counts)).replace("CORPUS", whole.corpus.name))
    return {column: kinds.total() for column, kinds in counts.items()}


def _write_dataset_info(whole: Whole, out: Writer, layout: Mapping[str, Any]) -> None:
    """Write what LLaMA-Factory asks of a folder: its data sets, one a split."""
    name = whole.corpus.name
    datasets = {
        f"{name}_{split}": {"file_name": f"{split}.jsonl", **layout} for split in whole.splits
    }
    out.write("dataset_info.json", f"{json.dumps(datasets, indent=2)}\n".encode())


_LAYOUT: Final = {
    "formatting": "sharegpt",
    "columns": {"messages": "messages", "audios": "audios"},
    "tags": {
        "role_tag": "role",
        "content_tag": "content",
        "user_tag": "user",
        "assistant_tag": "assistant",
    },
}
_HOW: Final = """\
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


class Chat(ExportFormat):
    """JSON lines and the stored audio files."""

    name: ClassVar[str] = "chat"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files, and the conversations about this shard's samples."""
        paths = store_audio(shard, out)
        about = subjects_of(shard)
        made = find_contrasts(about, Randomness(SEED), one_way=True)
        turns: Counter[str] = Counter()
        with out.piece("conversations") as lines:
            for conversation in find_conversations(about, made.contrasts, Randomness(SEED)):
                lines.write(json_line(chat_row(conversation, paths)))
                turns.update(exchange.kind for exchange in conversation.exchanges)
        # Of samples without a pair of captions that oppose each other one is told all the same.
        left_out = {kind: count for kind, count in made.left_out.items() if kind != DESCRIBE}
        write_counts(out, {"answers": turns, LEFT_OUT: left_out})

    def finish(self, whole: Whole, out: Writer) -> dict[str, int]:
        """One file a split, and what LLaMA-Factory asks for."""
        for split in whole.splits:
            whole.join(out, f"{split}.jsonl", split, "conversations")
        return describe_export(whole, out, _HOW, _LAYOUT)


def chat_row(conversation: Conversation, paths: Mapping[str, str]) -> dict[str, Any]:
    """A conversation as a row."""
    samples = conversation.exchanges[0].samples
    messages = []
    for place, exchange in enumerate(conversation.exchanges):
        messages.append(user(exchange.prompt, 0 if place else len(samples)))
        messages.append(assistant(say(exchange.answer)))
    return {
        "id": conversation.id,
        "kind": conversation.kind,
        "group": conversation.group,
        "samples": list(samples),
        "messages": messages,
        "audios": [paths[sample] for sample in samples],
        "proofs": [exchange.to_json() for exchange in conversation.exchanges],
    }
