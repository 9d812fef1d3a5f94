"""What tokens cost, and how many tokens a request may take."""

from __future__ import annotations

import re
from datetime import date
from decimal import ROUND_CEILING, Decimal
from importlib import resources
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from synth.base.doors import read_text
from synth.base.errors import SpecError
from synth.base.yaml_file import explain_errors, parse_yaml

Nano: TypeAlias = int
"""A billionth of a US dollar: sums are exact."""

NANOS: Final = 1_000_000_000
_MILLION: Final = 1_000_000
_DATED: Final = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")

_Dollars = Annotated[Decimal, Field(ge=0, le=100_000)]


class Price(BaseModel):
    """What a million tokens of a model cost, in US dollars.

    Args:
        cached: Of what is sent and was in the provider's cache; as `input` if None.
        batch: What a batch costs in proportion.
        noted: The day on which the price was looked up.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None
    batch: Annotated[Decimal, Field(gt=0, le=1)] = Decimal(1)
    noted: date | None = None

    def compute_cost(
        self, sent: int, answered: int, cached: int = 0, in_batch: bool = False
    ) -> Nano:
        """The price of a request, rounded up.

        Args:
            sent: Input tokens, those in the cache included.
        """
        cache_price = self.input if self.cached is None else self.cached
        hits = min(max(cached, 0), sent)
        dollars = (sent - hits) * self.input + hits * cache_price + answered * self.output
        share = self.batch if in_batch else Decimal(1)
        return int((dollars * share * NANOS / _MILLION).to_integral_value(ROUND_CEILING))

    @property
    def free(self) -> bool:
        """Nothing is paid."""
        return not self.input and not self.output


FREE: Final = Price(input=Decimal(0), output=Decimal(0))
"""Of a model that the user serves."""


class _Prices(RootModel[dict[str, Price]]):
    pass


def read_prices(path: Path | None = None) -> dict[str, Price]:
    """The shipped prices by model, with those of a file above them."""
    file = resources.files("pipelines.llm.money").joinpath("prices.yaml")
    shipped = file.read_text(encoding="utf-8")
    prices = _parse_prices(shipped, "the shipped prices")
    if path is None:
        return prices
    if not path.exists():
        raise SpecError(f"--prices {path}: no such file", fix="name a YAML file")
    return prices | _parse_prices(read_text(path, refuse=SpecError), f"--prices {path}")


def _parse_prices(text: str, name: str) -> dict[str, Price]:
    form = "write `MODEL: {input: 0.15, cached: 0.075, output: 0.60}`, in $ per million tokens"
    file = parse_yaml(text, name)
    try:
        return _Prices.model_validate(file.value or {}).root
    except ValidationError as error:
        raise explain_errors(error, file, _Prices, form) from error


def find_price(model: str, path: Path | None = None, local: bool = False) -> Price:
    """The price of a model; a name that ends in a date has the price of the name without it."""
    if local:
        return FREE
    prices = read_prices(path)
    for name in (model, _DATED.sub("", model)):
        if name in prices:
            return prices[name]
    raise SpecError(
        f"the price of model {model!r} is unknown",
        fix="give --prices FILE with a line `"
        f"{model}: {{input: DOLLARS, output: DOLLARS}}` (per million tokens), or --local "
        "for a self-hosted model",
    )


def format_cost(cost: Nano) -> str:
    """A sum for people: $1.23, $0.00042."""
    dollars = cost / NANOS
    if dollars >= 1 or not cost:
        return f"${dollars:,.2f}"
    return f"${dollars:.2g}" if dollars >= 0.0001 else f"${dollars:.7f}"


def to_nanos(dollars: float | Decimal) -> Nano:
    """Dollars in billionths."""
    return int(Decimal(str(dollars)) * NANOS)
