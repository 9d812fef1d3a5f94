"""`segue text probe`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from pipelines.cli.common.show import print_next, print_read, say
from synth.base.atomic import replacing
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SourceError, SpecError
from synth.base.progress import Observer, track
from synth.text.order.clause_swap import Probe

if TYPE_CHECKING:
    from synth.text.grammar.tagger import Tagger
    from synth.text.order.clause_swap import ProbeCaption, Probed

MADE: Final = "made"
LEFT_OUT: Final = "left out"


class TaggerName(StrEnum):
    """Which tagger decides the parts of speech."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    SPACY = "spacy"


def probe_command(
    tool: Probe,
    captions: Path,
    out: Annotated[Path, typer.Option()],
    column: list[str] | None = None,
    id_column: str | None = None,
    tagger: TaggerName = TaggerName.AUTO,
    balanced: bool = True,
    size: Annotated[int | None, typer.Option(min=0)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Make probes of temporal order from captions.

    A probe reduces a caption, reorders it, or selects it for a test set. Every caption is in the
    output, with its new text or the reason why it was left out.

    Example: `segue text probe pte test.csv --out pte.parquet`

    Args:
        tool: The kind of probe.
        captions: Captions: .csv, .parquet, .jsonl, or .json (a list of objects).
        out: The Parquet file to write.
        column: Column of captions, 'caption' by default; repeatable.
        id_column: Column with row ids; by default 'audiocap_id' or 'id'.
        tagger: auto: spaCy for nv if its model is installed, otherwise our own.
        balanced: bat: equally many sentences with before and after.
        size: bat: number of sentences, even.
        seed: Seed of a balanced bat.
    """
    from pipelines.store.places import check_output
    from synth.text.order.clause_swap import SETS, probe

    if tool is not Probe.BAT:
        refuse_given(given, {"--balanced", "--size", "--seed"}, f"{tool.value} takes every caption")
    check_output(out, captions)
    columns = column or ["caption"]
    model = _load_tagger(tagger, tool)
    texts = list(_read_captions(captions, columns, id_column))
    probed = probe(
        tool,
        track(texts, observer, "text", "captions"),
        tagger=model,
        balanced=balanced,
        size=size,
        seed=seed,
    )
    facts = {"tool": tool.value, "tagger": model.name, "seed": seed}
    _write(probed, out, facts)
    outcomes = Counter(_name_outcome(entry) for entry in probed)
    made = outcomes[MADE]
    totals = {"captions": len(probed), "made": made, "outcomes": dict(outcomes)}

    def show() -> None:
        title = f"{tool.value}: {made:,} of {len(probed):,} captions, tagged by {model.name}"
        make_console().print(_make_table(probed, outcomes, title))
        say(f"wrote {out}")
        if tool in SETS and made:
            print_next("segue", "eval", "MODEL", out, "--audio", "FOLDER")
        else:
            print_read(out)

    return CommandResult({**facts, **totals, "out": str(out)}, show)


def _load_tagger(name: TaggerName, tool: Probe) -> Tagger:
    """The swaps were judged with the embedded tagger, so only nv takes spaCy unasked."""
    from synth.text.grammar.tagger import SPACY_MODEL, EmbeddedTagger, SpacyTagger, best_tagger

    if name is TaggerName.EMBEDDED or (name is TaggerName.AUTO and tool is not Probe.NV):
        return EmbeddedTagger()
    best = best_tagger()
    if name is TaggerName.SPACY and not isinstance(best, SpacyTagger):
        raise SpecError(
            f"spaCy's model {SPACY_MODEL} is not installed",
            fix=f"python -m spacy download {SPACY_MODEL}, or use --tagger embedded",
        )
    return best


def _read_captions(
    path: Path, columns: Sequence[str], id_column: str | None
) -> Iterable[ProbeCaption]:
    """The captions of all columns, row by row; what is empty is an empty caption."""
    from pipelines.store.data_file import read_data_file
    from synth.text.order.clause_swap import ProbeCaption

    rows = [row for _, row in read_data_file(path)]
    if not rows:
        raise SourceError(f"{path}: has no rows", fix="name a file of captions")
    present = [name for name in rows[0] if isinstance(name, str)]
    id_column = id_column or ("audiocap_id" if "audiocap_id" in present else "id")
    for name, option in [(id_column, "--id-column"), *((name, "--column") for name in columns)]:
        if name not in present:
            raise SpecError(
                f"{path}: no column {name!r}", fix=f"give {option} one of: {', '.join(present)}"
            )
    for row in rows:
        for name in columns:
            yield ProbeCaption(_to_text(row.get(id_column)), _to_text(row.get(name)), name)


def _to_text(value: Any) -> str:
    """As text; what UTF-8 cannot hold becomes a question mark."""
    return "" if value is None else str(value).encode(errors="replace").decode()


def _write(probed: Sequence[Probed], out: Path, facts: Mapping[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {
            "id": entry.caption.id,
            "column": entry.caption.column,
            "caption": entry.caption.text,
            "outcome": MADE if entry.outcome.made else LEFT_OUT,
            "reason": entry.outcome.reason,
            "text": entry.outcome.text,
            "connective": str(entry.outcome.connective),
            "steps": [str(step) for step in entry.outcome.steps],
            "order": entry.outcome.order,
        }
        for entry in probed
    ]
    names = ("id", "column", "caption", "outcome", "reason", "text", "connective", "steps", "order")
    kinds = [(name, pa.list_(pa.string()) if name == "steps" else pa.string()) for name in names]
    schema = pa.schema(kinds, {key: str(value) for key, value in facts.items()})
    with replacing(out) as partial:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), partial)


def _name_outcome(probed: Probed) -> str:
    return str(probed.outcome.reason or MADE)


def _make_table(probed: Sequence[Probed], outcomes: Mapping[str, int], title: str) -> Table:
    """How many captions came to what, by connective where there are any."""
    counts = Counter((str(entry.outcome.connective), _name_outcome(entry)) for entry in probed)
    words = sorted({word for word, _ in counts})
    words = [] if words == [""] else words
    heads = [*(word or "-" for word in words), "all" if words else "captions"]
    table = Table("outcome", *heads, title=escape(title))
    for outcome, total in sorted(outcomes.items(), key=lambda pair: (pair[0] != MADE, -pair[1])):
        cells = (f"{counts[word, outcome]:,}" if counts[word, outcome] else "" for word in words)
        table.add_row(outcome, *cells, f"{total:,}")
    return table
