"""The browse page in a real browser: it loads, plays, filters, draws, and speaks to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.corpus.corpus import Corpus
from tests.kit.browsing import edited, served, variant
from tests.kit.chromium import Reader

LARGE = 50_000
DRAWN = """() => document.querySelector("[data-spectrogram]")?.dataset.state === "drawn" """
COLOURS = """(name) => {
  const canvas = document.querySelector(`[data-${name}]`);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) {
    seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  }
  return seen.size;
}"""


@pytest.fixture
def reader(browser: Any, address: str) -> Iterator[Reader]:
    """A reader whose pages must complain of nothing and ask nobody but this server."""
    found = Reader(browser)
    yield found
    found.close(address)


def shown(page: Any) -> str:
    """The id of the sample that is shown."""
    return str(page.locator("#sample article").get_attribute("data-id"))


def until_shown(page: Any, name: str) -> None:
    page.wait_for_selector(f'#sample article[data-id="{name}"]')


def names(page: Any) -> list[str]:
    return page.locator("[data-sample]").evaluate_all("all => all.map((e) => e.dataset.sample)")  # type: ignore[no-any-return]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_a_sample_in_both_schemes(
    browser: Any, address: str, corpus: Corpus, scheme: str
) -> None:
    reader = Reader(browser, color_scheme=scheme)
    page = reader.open(address)
    page.wait_for_function(DRAWN)
    assert shown(page) == corpus.samples().column("id")[0].as_py()
    assert page.evaluate(COLOURS, "spectrogram") > 50
    assert page.evaluate(COLOURS, "waveform") > 1
    bars = page.locator(".timeline:not(.small) .bar")
    assert bars.count() == len(corpus.samples().column("labels")[0])
    assert all(box["width"] > 20 for box in (bar.bounding_box() for bar in bars.all()))
    reader.close(address)


def test_space_plays_and_pauses(reader: Reader, address: str) -> None:
    page = reader.open(address)
    page.wait_for_function(DRAWN)
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('#sample audio').currentTime > 0.1")
    assert page.get_by_role("button", name="Pause").is_visible()
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('#sample audio').paused")
    stopped = page.evaluate("document.querySelector('#sample audio').currentTime")
    assert page.locator("[data-clock]").inner_text().startswith(f"{stopped:.2f}"[:3])
    page.locator("[data-stack]").click(position={"x": 2, "y": 40})
    page.wait_for_function("() => document.querySelector('#sample audio').currentTime < 0.1")
    page.locator("[data-seek]").focus()
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelector('#sample audio').currentTime > 1.9")


def test_a_sibling_plays_beside_the_sample(reader: Reader, address: str) -> None:
    page = reader.open(address)
    button = page.locator("[data-sibling]").first
    with page.expect_response(lambda response: "/audio/" in response.url):
        button.click()
    assert button.inner_text() == "Stop"
    opened = page.locator("[data-open]").first.get_attribute("data-open")
    page.locator("[data-open]").first.click()
    until_shown(page, opened)


def test_filters_change_results_and_address_without_a_new_page(
    reader: Reader, address: str, corpus: Corpus
) -> None:
    page = reader.open(address)
    page.evaluate("window.same = true")
    count = corpus.samples().column("relation").to_pylist().count("while")
    page.locator("#relation").select_option("while")
    page.wait_for_function(
        f"() => document.querySelector('#count').textContent.trim().startsWith('{count} ')"
    )
    assert "relation=while" in page.url
    page.locator("#text").fill("dog")
    page.wait_for_selector(".list mark")
    assert "text=dog" in page.url
    assert all("dog" in text.lower() for text in page.locator(".row").all_inner_texts())
    assert page.locator("#announcer").inner_text()
    assert page.evaluate("window.same") is True
    kept = names(page)
    page.reload()
    assert names(page) == kept
    assert page.locator("#relation").input_value() == "while"
    page.locator("#text").fill("no such words")
    page.wait_for_function(
        "() => document.querySelector('#count').textContent.trim().startsWith('0 ')"
    )
    page.locator("#clear").click()
    page.wait_for_selector(".row")


def test_everything_is_done_by_keys_alone(reader: Reader, address: str, corpus: Corpus) -> None:
    order = corpus.samples().column("id").to_pylist()
    page = reader.open(address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("j")
    until_shown(page, order[1])
    page.keyboard.press("j")
    until_shown(page, order[2])
    page.keyboard.press("k")
    until_shown(page, order[1])
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowDown")
    until_shown(page, order[2])
    assert f"sample={order[2]}" in page.url
    page.keyboard.press("/")
    page.keyboard.type("jk? ")
    assert page.locator("#text").input_value() == "jk? "
    page.locator("#text").fill("")
    page.keyboard.press("Escape")
    page.wait_for_selector('#results[aria-busy="false"]')
    page.locator(f'[data-sample="{order[49]}"]').focus()
    page.keyboard.press("Enter")
    until_shown(page, order[49])
    page.keyboard.press("j")
    until_shown(page, order[50])
    page.keyboard.press("k")
    until_shown(page, order[49])
    page.get_by_role("button", name="Next", exact=False).last.focus()
    page.keyboard.press("Enter")
    until_shown(page, order[50])
    assert page.evaluate("() => document.activeElement.dataset.step") == "1"
    page.keyboard.press("k")
    until_shown(page, order[49])
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    assert dialog.is_visible()
    page.locator("#keys-on").uncheck()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("?")
    assert not dialog.is_visible()
    assert shown(page) == order[49]


def test_a_narrow_window_needs_no_sideways_scrolling(browser: Any, address: str) -> None:
    reader = Reader(browser, viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page = reader.open(address)
    page.wait_for_function(DRAWN)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('[data-clock]').textContent > '0.1'")
    reader.context.close()


def test_a_sample_whose_audio_is_damaged_says_so(
    browser: Any, corpus: Corpus, tmp_path: Path
) -> None:
    change = edited(lambda row: row | {"sha256": "0" * 64})
    with served(variant(corpus, tmp_path / "damaged", change)) as address:
        reader = Reader(browser)
        page = reader.open(address)
        alert = page.locator("[data-alert]:not([hidden])")
        alert.wait_for()
        assert "is not what was rendered" in alert.inner_text()
        assert "build again" in alert.inner_text()
        assert page.locator(".sentences li").count() > 0
        reader.context.close()
