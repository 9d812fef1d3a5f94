"""The browser: with keyboard, little sight, and what explains the words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.look.browse.drawing import draw
from pipelines.look.browse.explain import Explainer
from pipelines.look.page import write_page
from pipelines.look.report.corpus import corpus_page
from synth.corpus.corpus import Corpus
from synth.scene.claim import And, Claim, Count, Not, Only
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, parse
from synth.scene.timeline import timeline
from synth.truth.relations import Tolerance
from tests.kit.accessible import MODES, check_accessible, check_focus, check_still
from tests.kit.browsing import edited, served, variant
from tests.kit.chromium import Reader

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
def test_a_page_draws_a_sample(browser: Any, address: str, corpus: Corpus, scheme: str) -> None:
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


def test_filters_do_not_leave_the_page(reader: Reader, address: str, corpus: Corpus) -> None:
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


def test_a_damaged_sample_says_so(browser: Any, corpus: Corpus, tmp_path: Path) -> None:
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


# The pages can be used by keyboard alone, with little sight, and without any.


@pytest.fixture(scope="module")
def report(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report's file."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_page(corpus_page(corpus.folder, samples=2), out)
    return out.as_uri()


def mode_name(mode: dict[str, Any]) -> str:
    return f"{mode['color_scheme']}-{mode['viewport']['width']}"


@pytest.mark.parametrize("mode", MODES, ids=mode_name)
def test_browse_is_readable(browser: Any, address: str, mode: dict[str, Any]) -> None:
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
def test_a_report_is_readable(browser: Any, report: str, mode: dict[str, Any]) -> None:
    reader = Reader(browser, reduced_motion="reduce", **mode)
    page = reader.open(report)
    check_accessible(page)
    check_still(page)
    reader.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_focus_goes_through_a_report(browser: Any, report: str, width: int) -> None:
    view = {"width": width, "height": 844}
    reader = Reader(browser, reduced_motion="reduce", viewport=view)
    page = reader.open(report)
    stops = check_focus(page)
    assert 'class="skip"' in stops[0]
    assert sum("<audio" in stop for stop in stops) == 2
    assert "<summary" in stops[-1]
    reader.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_focus_goes_through_browse(browser: Any, address: str, corpus: Corpus, width: int) -> None:
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


# Why a sentence is false, and how a scene is drawn.


RATE = 100


def sound(label: str, seconds: float) -> Event:
    return Event(label, Excerpt(f"lib/{label}", 0, round(seconds * RATE)))


DOG_THEN_RAIN: Scene = Concat(sound("dog", 2), sound("rain", 3), crossfade=50)
WITH_SIREN: Scene = Concat(DOG_THEN_RAIN, sound("siren", 1))


def why(scene: Scene, claim: Claim) -> str | None:
    tolerance = Tolerance(audible=20)
    return Explainer(timeline(scene), tolerance, RATE).explain(claim)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (parse("cat"), "“cat” is not heard; heard: dog, rain"),
        (
            parse("rain + dog"),
            "“rain” does not start first, nor does “dog” go on alone: rain 1.50 to 4.50 s; "
            "dog 0.00 to 2.00 s",
        ),
        (
            parse("dog * rain"),
            "“dog” and “rain” are never heard together: dog 0.00 to 2.00 s; rain 1.50 to 4.50 s; "
            "the 0.50 s they share are a transition",
        ),
        (parse("dog + cat"), "“cat” is not heard; heard: dog, rain"),
        (Not(parse("dog")), "it denies “dog”, which is heard: dog 0.00 to 2.00 s"),
        (
            Not(parse("dog + rain")),
            "it denies “dog + rain”, which is so: dog 0.00 to 2.00 s, rain 1.50 to 4.50 s",
        ),
        (Only(parse("dog")), "rain can be heard, too"),
        (And(parse("dog"), Not(parse("rain"))), "it denies “rain”, which is heard: rain 1.50 to"),
        (And(parse("cat"), parse("dog")), "“cat” is not heard"),
    ],
    ids=str,
)
def test_the_part_that_fails_is_told(claim: Claim, reason: str) -> None:
    assert (why(DOG_THEN_RAIN, claim) or "").startswith(reason)


def test_of_several_sounds_the_pair_that_fails_is_told() -> None:
    told = why(WITH_SIREN, parse("dog + siren + rain"))
    assert told == (
        "“siren” does not start first, nor does “rain” go on alone: siren 4.50 to 5.50 s; "
        "rain 1.50 to 4.50 s"
    )
    nested = why(WITH_SIREN, parse("dog + (rain * siren)"))
    assert nested.startswith("“rain” and “siren” are never heard together")


@pytest.mark.parametrize("times", [1, 3])
def test_a_wrong_count_is_told_with_what_is_heard(times: int) -> None:
    twice = timeline(Concat(sound("dog", 1), sound("dog", 1), crossfade=-RATE))
    heard = replace(
        twice,
        placements=tuple(
            place._replace(activity=replace(place.heard, onsets=1)) for place in twice.placements
        ),
    )
    told = Explainer(heard, Tolerance(audible=20), RATE)
    times_heard = "dog 0.00 to 1.00 s, dog 2.00 to 3.00 s"
    assert told.explain(Count(Event("dog"), times)) == f"it counts {times} of “dog”: {times_heard}"
    assert told.explain(Count(Event("dog"), 2)) is None


def test_what_the_timeline_leaves_open_or_proves_has_no_reason() -> None:
    assert why(DOG_THEN_RAIN, parse("dog + rain")) is None
    long_overlap = Overlay(sound("dog", 2), sound("rain", 3), offset=150)
    assert why(long_overlap, parse("dog + rain")) is None


def test_bars_and_crossfades_lie_where_the_timeline_has_them() -> None:
    drawing = draw(DOG_THEN_RAIN, 5 * RATE, RATE)
    assert [(bar.label, bar.left, bar.width) for bar in drawing.bars] == [
        ("dog", 0.0, 40.0),
        ("rain", 30.0, 60.0),
    ]
    (fade,) = drawing.crossfades
    assert (fade.start_s, fade.end_s, fade.left, fade.width) == (1.5, 2.0, 30.0, 10.0)
    assert (drawing.seconds, drawing.ticks[-1].place) == (5.0, 100.0)
    assert drawing.summary == (
        "Timeline of 5.00 seconds: dog from 0.00 to 2.00, rain from 1.50 to 4.50"
    )


def test_crossfades_are_drawn_where_they_are_and_labels_in_their_colours() -> None:
    inner = Overlay(sound("wind", 1), DOG_THEN_RAIN, offset=-100)
    scene = Concat(sound("siren", 1), inner, crossfade=25)
    drawn = [(fade.start_s, fade.end_s) for fade in draw(scene, 10 * RATE, RATE).crossfades]
    assert drawn == [(0.75, 1.0), (2.25, 2.75)]
    first = draw(DOG_THEN_RAIN, 5 * RATE, RATE)
    other = Concat(sound("rain", 1), sound("cat", 1))
    second = draw(other, 2 * RATE, RATE, first.colours)
    assert second.colours["rain"] == first.colours["rain"]
    assert second.colours["cat"] not in first.colours.values()
