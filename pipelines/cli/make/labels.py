"""`segue labels`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.markup import escape

from pipelines.cli.common.show import say
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import LexiconError
from synth.labels.lexicon import category, families, other_families, shipped_phrases
from synth.text.label_search import find_nearest, search_labels, suggest_words

SHOWN: Final = 20
_SAID: Final = {"count": "countable", "fast": "has a rhythm", "long": "lasts", "pitch": "has pitch"}


def labels_command(
    word: Annotated[str | None, typer.Argument(metavar="[WORD|SPEC]")] = None,
) -> CommandResult:
    """Search the labels that Segue has words for; or write those that a spec's labels lack.

    Without a word: how many labels there are, by category. Each label comes with its wordings,
    its families and what can be said of it. For labels of a spec's library that are not listed,
    it writes the YAML to put into the spec.

    Examples: `segue labels bark`, `segue labels mine.yaml`

    Args:
        word: What to search, or a spec whose labels to word.
    """
    if word is not None and Path(word).is_file():
        return _suggest(Path(word))
    if word is None:
        counts = dict(Counter(map(category, shipped_phrases())).most_common())
        sizes = ", ".join(f"{name} {count}" for name, count in counts.items())
        lines = [
            f"{sum(counts.values()):,} labels have words, in {len(counts)} categories: {sizes}",
            "`segue labels WORD` searches them.",
        ]
        return CommandResult(counts, lambda: make_console().print("\n".join(lines)))
    rows = {label: _describe(label) for label in search_labels(word)}
    if not rows:
        nearest = find_nearest(word)
        fix = f"did you mean {nearest!r}?" if nearest else "word it under `labels` in the spec"
        raise LexiconError(f"no listed label is called {word!r}", fix=fix)

    def show() -> None:
        for label, row in list(rows.items())[:SHOWN]:
            kinds = [*row["families"], *(f"maybe {path}" for path in row["also"]), *row["said"]]
            make_console().print(f"[bold]{escape(label)}[/]  [dim]{', '.join(kinds)}[/]")
            say(f"  {'; '.join(row['clauses'])}")
        if len(rows) > SHOWN:
            say(f"and {len(rows) - SHOWN:,} more")

    return CommandResult(rows, show)


def _describe(label: str) -> dict[str, Any]:
    listed = shipped_phrases()[label]
    standard, kinds = next(iter(listed.items()))
    return {
        "noun": standard.noun,
        "clauses": [phrase.clause for phrase in listed],
        "families": list(families(label)),
        "also": list(other_families(label)),
        "said": [name for key, name in _SAID.items() if key in kinds],
    }


def _suggest(spec: Path) -> CommandResult:
    from pipelines.config.file import read_spec
    from pipelines.config.new import inspect_library

    chosen = read_spec(spec)
    library = inspect_library(chosen.source.chosen)  # type: ignore[arg-type]
    unlisted = [label for label in library.unlisted_labels if label not in (chosen.labels or {})]
    text = "\n".join(suggest_words(unlisted)) if unlisted else ""

    def show() -> None:
        say(text or "every label has words")

    return CommandResult({"unlisted": unlisted, "yaml": text}, show)
