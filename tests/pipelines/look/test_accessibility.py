"""The pages can be used by keyboard alone, with little sight, and without any."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.look.page import write_page
from pipelines.look.report.corpus import corpus_page
from synth.corpus.corpus import Corpus
from tests.kit.accessible import MODES, check_accessible, check_focus, check_still
from tests.kit.chromium import Reader

DRAWN = """() => document.querySelector("[data-spectrogram]")?.dataset.state === "drawn" """


@pytest.fixture(scope="module")
def report(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report's file."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_page(corpus_page(corpus.folder, samples=2), out)
    return out.as_uri()


def mode_name(mode: dict[str, Any]) -> str:
    return f"{mode['color_scheme']}-{mode['viewport']['width']}"


@pytest.mark.parametrize("mode", MODES, ids=mode_name)
def test_browse_is_named_ordered_and_readable(
    browser: Any, address: str, mode: dict[str, Any]
) -> None:
    reader = Reader(browser, reduced_motion="reduce", **mode)
    page = reader.open(f"{address}/?text=dog")
    page.wait_for_function(DRAWN)
    check_accessible(page)
    check_still(page)
    page.locator("#help-open").click()
    check_accessible(page)
    page.keyboard.press("Escape")
    page.goto(f"{address}/?text=nothing+says+this")
    check_accessible(page)
    reader.close(address)


@pytest.mark.parametrize("mode", MODES[1::2], ids=mode_name)
def test_an_error_is_as_readable(browser: Any, address: str, mode: dict[str, Any]) -> None:
    reader = Reader(browser, reduced_motion="reduce", **mode)
    page = reader.open(f"{address}/samples/none")
    check_accessible(page)
    reader.context.close()


@pytest.mark.parametrize("mode", MODES, ids=mode_name)
def test_a_report_is_named_ordered_and_readable(
    browser: Any, report: str, mode: dict[str, Any]
) -> None:
    reader = Reader(browser, reduced_motion="reduce", **mode)
    page = reader.open(report)
    check_accessible(page)
    check_still(page)
    reader.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_focus_goes_through_a_report_as_it_is_read(
    browser: Any, report: str, width: int
) -> None:
    view = {"width": width, "height": 844}
    reader = Reader(browser, reduced_motion="reduce", viewport=view)
    page = reader.open(report)
    stops = check_focus(page)
    assert 'class="skip"' in stops[0]
    assert sum("<audio" in stop for stop in stops) == 2
    assert "<summary" in stops[-1]
    reader.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_focus_goes_through_the_browse_page_as_it_is_read(
    browser: Any, address: str, corpus: Corpus, width: int
) -> None:
    view = {"width": width, "height": 844}
    reader = Reader(browser, reduced_motion="reduce", viewport=view)
    page = reader.open(f"{address}/?text={corpus.samples().column('id')[0].as_py()}")
    page.wait_for_function(DRAWN)
    stops = check_focus(page)
    order = ['class="skip"', 'id="text"', 'id="results"', "data-sample=", 'id="sample"']
    order += ["data-step", "data-play", "data-seek", ">stretch <", "data-sibling"]
    order += [">Where it lies<"]
    found = [next(at for at, stop in enumerate(stops) if each in stop) for each in order]
    assert found == sorted(found)
    reader.close(address)


def test_no_mouse_is_needed(browser: Any, address: str) -> None:
    reader = Reader(browser, reduced_motion="reduce")
    page = reader.open(address)
    page.wait_for_function(DRAWN)
    keys = page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(80):
            if page.evaluate(f"document.activeElement.matches('{selector}')"):
                return
            keys.press("Tab")
        raise AssertionError(f"Tab does not lead to {selector}")

    def tells(text: str) -> None:
        page.wait_for_function(
            f"() => document.getElementById('announcer').textContent.includes('{text}')"
        )

    tab_to("#text")
    keys.type("dog")
    page.wait_for_selector(".list mark")
    tells("sample")
    tab_to("#relation")
    keys.type("while")
    page.wait_for_url("**relation=while**")
    page.wait_for_selector('#results[aria-busy="false"]')
    tab_to("[data-sample]")
    keys.press("Tab")
    second = page.evaluate("document.activeElement.dataset.sample")
    keys.press("Enter")
    page.wait_for_selector(f'article[data-id="{second}"]')
    tells(second)
    page.wait_for_function(DRAWN)
    tab_to("[data-play]")
    keys.press("Enter")
    page.wait_for_function("() => document.querySelector('#sample audio').currentTime > 0.1")
    keys.press("Enter")
    page.wait_for_function("() => document.querySelector('#sample audio').paused")
    reader.close(address)
