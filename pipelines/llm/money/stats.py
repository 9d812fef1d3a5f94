"""What a store holds and what it cost, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipelines.llm.money.prices import NANOS, Nano
from pipelines.llm.money.records import Status
from pipelines.llm.money.store import AnswerStore
from synth.base.errors import SpecError
from synth.captions.caption import MODEL

_SCOPES: Final = "SELECT * FROM scopes ORDER BY prompt, version, model, id"
_ITEMS: Final = "SELECT status, count(*) AS items FROM items WHERE scope = ? GROUP BY status"
_PURCHASES: Final = """
SELECT count(*) AS requests, coalesce(sum(input_tokens), 0) AS sent,
    coalesce(sum(output_tokens), 0) AS answered, coalesce(sum(cost), 0) AS cost,
    coalesce(sum(cost) FILTER (WHERE state IN ('sent', 'lost')), 0) AS uncertain,
    coalesce(sum(state IN ('fault', 'lost')), 0) AS faults, coalesce(max(time), '') AS last
FROM purchases WHERE scope = ?"""


@dataclass(frozen=True, slots=True)
class Stat:
    """What was bought of one prompt from one model.

    `uncertain` is the part of the cost for what is under way or was lost, at its worst.
    """

    generator: str
    parameters: str
    items: Mapping[str, int]
    requests: int
    faults: int
    input_tokens: int
    output_tokens: int
    cost: Nano
    uncertain: Nano
    last: str

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "generator": self.generator,
            "parameters": self.parameters,
            **{str(status): self.items.get(status, 0) for status in Status},
            "requests": self.requests,
            "faults": self.faults,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost / NANOS,
            "uncertain_cost": self.uncertain / NANOS,
            "last": self.last,
        }


def read_stats(path: Path) -> list[Stat]:
    """What a store holds, by prompt and model."""
    if not path.is_file():
        raise SpecError(f"--store {path}: no such file", fix="name a store")
    with AnswerStore.open(path) as store:
        found = [_read_stat(store, row) for row in store.select(_SCOPES)]
        return [each for each in found if each.requests or each.items]


def _read_stat(store: AnswerStore, scope: Any) -> Stat:
    (bought,) = store.select(_PURCHASES, scope["id"])
    return Stat(
        generator=f"{MODEL}{scope['prompt']}@{scope['version']}/{scope['model']}",
        parameters=scope["parameters"],
        items={row["status"]: row["items"] for row in store.select(_ITEMS, scope["id"])},
        requests=bought["requests"],
        faults=bought["faults"],
        input_tokens=bought["sent"],
        output_tokens=bought["answered"],
        cost=bought["cost"],
        uncertain=bought["uncertain"],
        last=bought["last"],
    )
