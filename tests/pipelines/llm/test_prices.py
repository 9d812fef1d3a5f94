"""What tokens cost: exact sums, own prices, models whose price is not known."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from pipelines.llm.money.prices import (
    FREE,
    NANOS,
    Price,
    find_price,
    format_cost,
    read_prices,
    to_nanos,
)
from synth.base.errors import SpecError


def test_prices_are_dated_exact_and_ones_own_stand_above_the_shipped(tmp_path: Path) -> None:
    prices = read_prices()
    assert prices["gpt-4o-mini"].input == Decimal("0.15")
    assert all(price.noted for price in prices.values())
    assert find_price("gpt-4o-mini-2024-07-18") == find_price("gpt-4o-mini")
    price = Price(input=Decimal("0.15"), cached=Decimal("0.075"), output=Decimal("0.6"))
    assert price.compute_cost(1_000_000, 1_000_000) == 0.75 * NANOS
    assert price.compute_cost(1000, 0, cached=400) == 600 * 150 + 400 * 75
    assert Price(input=Decimal("0.0001"), output=Decimal(0)).compute_cost(1, 0) == 1
    halved = Price(input=Decimal(1), output=Decimal(4), batch=Decimal("0.5"))
    assert halved.compute_cost(10, 10, in_batch=True) * 2 == halved.compute_cost(10, 10)
    assert Price(input=Decimal(1), output=Decimal(1)).compute_cost(100, 0, cached=50) == 100_000
    own = tmp_path / "own.yaml"
    own.write_text("gpt-4o-mini: {input: 1, output: 2}\nours: {input: 0, output: 0}\n")
    assert find_price("gpt-4o-mini", own).output == 2
    assert find_price("ours", own).free
    assert find_price("gpt-4o", own) == find_price("gpt-4o")
    with pytest.raises(SpecError, match="price of model 'secret' is unknown") as caught:
        find_price("secret")
    assert "--prices" in caught.value.fix
    assert find_price("secret", local=True) is FREE


def test_wrong_prices_are_named(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    with pytest.raises(SpecError, match="no such file"):
        read_prices(own)
    unknown = "own.yaml:1:26: a has no setting 'per'; there are input"
    for text, said in (
        ("a: {input: -1, output: 2}", "a.input"),
        ("a: {input: 1}", "a.output"),
        ("a: {input: 1, output: 2, per: token}", unknown),
        ("a: [", "not YAML"),
        ("- a", "write `MODEL"),
    ):
        own.write_text(text)
        with pytest.raises(SpecError) as caught:
            find_price("a", own)
        assert said in str(caught.value)


def test_sums_for_people() -> None:
    sums = (to_nanos(0), to_nanos(1234.5), to_nanos(0.5), to_nanos(0.00042), to_nanos(0.0000075))
    written = " ".join(format_cost(each) for each in sums)
    assert written == "$0.00 $1,234.50 $0.5 $0.00042 $0.0000075"
