"""What verified rewriting lets through: captions of plans, rewritten by a model with known errors.

Run from the repository root: `python -m benchmarks.rewrite`. README.md tells what is measured.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.core.table import make_parser, markdown
from pipelines.builder.build import plan_library
from pipelines.config.spec import Spec
from pipelines.llm.run import generate
from pipelines.llm.settings import GenerateSettings
from synth.base.progress import UNOBSERVED
from synth.base.rng import uniform_hash
from synth.llm.prompt import load_prompt

if TYPE_CHECKING:
    from tests.kit.rewriter import ExpectedTally

MOST: Final = 700
"""Captions of a recipe."""

RIGHT: Final = ("right caught", "right written", "right accepted")
WRONG: Final = ("wrong caught", "wrong written", "wrong accepted")
RECIPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "triplets": {"triplets": {"style": "natural", "most_groups": 500}},
    "scenes": {"scenes": {"scenes": 160}},
    "negation": {"scenes": {"scenes": 120, "variants": 2, "max_events": 3}},
    "counts": {"counts": {"repeats": 1}},
    "attributes": {"attributes": {"pairs": 200}},
}
WRITE: Final = {
    **{"order": 0.05, "relation": 0.05, "renamed": 0.04, "added": 0.03, "lost": 0.03},
    **{"negation": 0.05, "count": 0.10, "measure": 0.10},
}


def plan_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """True captions of five corpora over the sounds that ship, each with what refutes it."""
    for name, recipe in RECIPES.items():
        spec = Spec.model_validate(
            {
                "corpus": name,
                "seed": 7,
                "source": {"foley": {"takes": 12}},
                "recipe": recipe,
                "audio": {"sample_rate": 16000},
                "splits": {"train": 1.0},
            }
        )
        _, places, _ = plan_library(spec, folder, 0, UNOBSERVED)
        yield from pq.read_table(places.manifests / "plan.parquet").to_pylist()


def choose_captions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most so many captions of each recipe, drawn by chance, in an order that mixes them."""
    by_recipe: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        for caption in ({"text": row["caption"], "claim": row["claim"]}, *row["positives"]):
            text, claim, rate = caption["text"], caption["claim"], row["sample_rate"]
            fields = {"id": text, "caption": text, "claim": claim, "sample_rate": rate}
            by_recipe[row["recipe"]][text] = fields
    chosen = (sorted(items.values(), key=_place)[:MOST] for items in by_recipe.values())
    unique = {item["caption"]: item for items in chosen for item in items}
    return sorted(unique.values(), key=_place)


def _place(row: Mapping[str, Any]) -> float:
    return uniform_hash("place", row["caption"])


def measure(folder: Path, rows: list[dict[str, Any]], texts: int, read: float) -> None:
    """One run over so many rewrites, and its tables."""
    from tests.kit.llm_server import LlmServer
    from tests.kit.llm_tasks import KEY, KEY_VARIABLE
    from tests.kit.rewriter import Rates, Rewriter, compare

    os.environ[KEY_VARIABLE] = KEY
    captions = choose_captions(rows)
    source, out = folder / "captions.parquet", folder / f"rewrites-{read}.parquet"
    pq.write_table(pa.Table.from_pylist(captions), source)
    variants = -(-texts // len(captions))
    model = Rewriter(rows, Rates(WRITE, read))
    with LlmServer(model, key=KEY) as server:
        settings = GenerateSettings(
            task="rewrite",
            source=source,
            variants=variants,
            limit=-(-texts // variants),
            out=out,
            model="tiny",
            base_url=server.base_url,
            key_variable=KEY_VARIABLE,
            store=folder / f"store-{read}.sqlite",
            local=True,
        )
        summary = generate(settings, UNOBSERVED)
    print(f"\n## Reader errs in {read:.0%} of texts: {summary.items:,} rewrites")
    print(f"\n{summary.account.requests:,} requests, {summary.seconds:.0f} s.")
    tallies = compare(model, load_prompt("rewrite"), pq.read_table(out).to_pylist())
    _show("kind of claim", 0, (*RIGHT, *WRONG), tallies)
    _show("error of the writer", 1, WRONG, tallies)


def _show(
    title: str,
    part: int,
    columns: tuple[str, ...],
    tallies: Mapping[tuple[str, str, str], ExpectedTally],
) -> None:
    from tests.kit.rewriter import ExpectedTally

    sums: dict[tuple[str, str], ExpectedTally] = defaultdict(ExpectedTally)
    for key, tally in tallies.items():
        verdict = "right" if not key[1] else "wrong"
        for row in (key[part], "all"):
            whole = sums[row, f"{verdict} {key[2]}"]
            whole.expected += tally.expected
            whole.variance += tally.variance
            whole.measured += tally.measured
    rows = (
        [row, *(f"{cell.measured:,} ({cell.expected:,.1f} ± {cell.sd:.1f})" for cell in cells)]
        for row in [*sorted({name for name, _ in sums} - {"", "all"}), "all"]
        for cells in [[sums[row, column] for column in columns]]
    )
    print(f"\n{markdown((title, *columns), rows)}")


def main() -> None:
    """Plan, rewrite with readers of several rates, and print the tables."""
    parser = make_parser("rewrite", __doc__, repeats=1)
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--read", type=float, nargs="+", default=[0.05, 0.3, 1.0])
    options = parser.parse_args()
    print("# Verified rewrites of captions, by a model with known errors")
    print("\n`python -m benchmarks.rewrite`")
    with tempfile.TemporaryDirectory() as folder:
        rows = list(plan_rows(Path(folder)))
        for read in options.read:
            measure(Path(folder), rows, 50 if options.quick else options.texts, read)


if __name__ == "__main__":
    main()
