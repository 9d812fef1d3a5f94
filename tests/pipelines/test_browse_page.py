"""The browse page in a real browser: it loads, plays, filters, draws, and speaks to nobody else."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browsing import edited, repeated, served, variant

from synth.corpus import Corpus
from tests.conftest import missing

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SCREENSHOTS = "SEGUE_SCREENSHOTS"
LARGE = 50_000
PATIENCE_MS = 60_000
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
# WCAG 2.2, 1.4.3: every text that is seen, against the nearest opaque ground.
FAINT = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = (rgb) => rgb.slice(0, 3)
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const judge = (name, ink, paper) => {
    if (ratio(ink, paper) < 4.5) found.push(`${name}: ${ratio(ink, paper).toFixed(2)}`);
  };
  for (const element of document.querySelectorAll("body *:not(svg *):not(option)")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const field = element.matches("input:not([type=range]):not([type=checkbox]), select");
    if ((own || field) && element.checkVisibility()) {
      const ink = parse(getComputedStyle(element).color);
      judge(element.outerHTML.slice(0, 80), ink, ground(element));
    }
  }
  const ink = document.querySelector(".timeline .name");
  for (const bar of document.querySelectorAll(".timeline:not(.small) .bar")) {
    judge("bar", parse(getComputedStyle(ink).fill), parse(getComputedStyle(bar).fill));
  }
  return found;
}"""


@pytest.fixture(scope="module")
def corpus(tiny_corpus: Path) -> Corpus:
    return Corpus.open(tiny_corpus / "data_manifests" / "tiny")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing("no Chromium here: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    # Chromium's sandbox does not work for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=found, args=arguments)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def address(corpus: Corpus) -> Iterator[str]:
    with served(corpus.folder) as found:
        yield found


class Reader:
    """Opens pages, and remembers what they ask for and complain of."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}} | options)
        self.context.set_default_timeout(PATIENCE_MS)
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def open(self, address: str) -> Any:
        page = self.context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda line: line.type in ("error", "warning") and self.complaints.append(line.text),
        )
        page.goto(address)
        return page


@pytest.fixture
def reader(browser: Any, address: str) -> Iterator[Reader]:
    """A reader whose pages must complain of nothing and ask nobody but this server."""
    found = Reader(browser)
    yield found
    found.context.close()
    assert found.complaints == []
    assert found.requests
    assert [url for url in found.requests if not url.startswith(f"{address}/")] == []


def save(page: Any, name: str) -> None:
    """A picture for the documents, where one is asked for."""
    if folder := os.environ.get(SCREENSHOTS):
        page.screenshot(path=Path(folder) / f"{name}.png")


def shown(page: Any) -> str:
    """The id of the sample that is shown."""
    return str(page.locator("#sample article").get_attribute("data-id"))


def until_shown(page: Any, name: str) -> None:
    page.wait_for_selector(f'#sample article[data-id="{name}"]')


def names(page: Any) -> list[str]:
    return page.locator("[data-sample]").evaluate_all("all => all.map((e) => e.dataset.sample)")  # type: ignore[no-any-return]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_a_sample_in_colours_that_can_be_read(
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
    assert page.evaluate(FAINT) == []
    save(page, f"browse-{scheme}")
    page.locator("#help-open").click()
    assert page.evaluate(FAINT) == []
    assert reader.complaints == []
    assert [url for url in reader.requests if not url.startswith(f"{address}/")] == []
    reader.context.close()


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
    save(page, "browse-keys")
    page.locator("#keys-on").uncheck()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("?")
    assert not dialog.is_visible()
    assert shown(page) == order[49]


def test_every_control_has_a_name_and_every_tab_stop_is_seen(reader: Reader, address: str) -> None:
    page = reader.open(address)
    page.wait_for_function(DRAWN)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("a, button, input, select, canvas, svg[role]")]
          .filter((e) => e.checkVisibility())
          .filter((e) => !(e.ariaLabel || e.labels?.length || e.textContent.trim()))
          .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    headings = page.locator("h1, h2, h3").evaluate_all(
        "all => all.map((e) => Number(e.tagName[1]))"
    )
    assert headings[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(headings))
    for _ in range(14):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            """() => {
              const box = document.activeElement.getBoundingClientRect();
              const style = getComputedStyle(document.activeElement);
              return [style.outlineStyle, box.width > 0 && box.bottom > 0];
            }"""
        )
        assert focus == ["solid", True]


def test_a_narrow_window_needs_no_sideways_scrolling(browser: Any, address: str) -> None:
    reader = Reader(browser, viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page = reader.open(address)
    page.wait_for_function(DRAWN)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('[data-clock]').textContent > '0.1'")
    save(page, "browse-narrow")
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


def test_fifty_thousand_rows_are_paged(
    browser: Any,
    corpus: Corpus,
    tmp_path: Path,
    record_property: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with served(variant(corpus, tmp_path / "large", repeated(LARGE))) as address:
        reader = Reader(browser)
        page = reader.open(address)
        times: dict[str, float] = {}
        asked = {
            "first page": "/",
            "last page": f"/?page={LARGE // 50}",
            "text": "/?text=dog+rain",
            "licence": "/?licence=CC0-1.0&page=100",
        }
        for name, place in asked.items():
            start = time.perf_counter()
            page.goto(f"{address}{place}")
            times[name] = time.perf_counter() - start
            assert len(names(page)) == 50
        page.goto(f"{address}/?page=3")
        page.wait_for_function(DRAWN)
        start = time.perf_counter()
        before = names(page)
        page.locator("[data-page][rel=next]").click()
        page.wait_for_function(
            f"() => document.querySelector('[data-sample]').dataset.sample !== '{before[0]}'"
        )
        times["next page"] = time.perf_counter() - start
        assert f"{LARGE:,} samples" in page.locator("#count").inner_text()
        save(page, "browse-50000")
        assert reader.complaints == []
        reader.context.close()
    told = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in times.items())
    record_property("browse", told)
    with capsys.disabled():
        print(f"\n{LARGE:,} rows in Chromium: {told}")
