"""Experiments: carried out once, results told honestly, claims judged, papers' own captions."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import registry
from experiments.acba import drop_order, mostly_unordered, nouns_and_verbs_only
from experiments.cli.demo import make_demo_spec
from experiments.cli.reproduce import reproduce_command
from experiments.frozen.results import compare_page, read_results
from experiments.harness import runner
from experiments.harness.estimate import (
    Cell,
    Claim,
    ClaimVerdict,
    claim_alike,
    claim_near,
    estimate_difference,
    estimate_metric,
    judge,
)
from experiments.harness.experiment import (
    PAPERS_SCALES,
    Arm,
    CorpusView,
    ExamSplit,
    Experiment,
    Line,
    Row,
    Scale,
    make_config,
    make_exam,
    make_probe_exam,
)
from experiments.harness.library import SHARES, SoundLibrary
from experiments.harness.results import draw, write_results
from experiments.harness.runner import ExperimentOutcome, Machine, carry_out
from experiments.registry import EXPERIMENTS, find_experiment, parse_exam_split
from pipelines.config.spec import Spec
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED, Silent
from synth.corpus.corpus import Corpus
from synth.text.order.clause_swap import Probe
from tests.kit.accessible import MODES, check_accessible
from tests.kit.builds import TINY, merged, segue_here
from tests.kit.chromium import Reader, launched
from tests.kit.observers import Phases
from train.bench.metrics.measure import Metric, mean_of, measure
from train.bench.settings import Task
from train.config.model import AudioConfig, HeadConfig, HeadKind, ModelConfig
from train.config.run import Stage
from train.engine.run_folder import MODEL_FILE


def small_model(head: HeadKind) -> ModelConfig:
    return ModelConfig(dim=16, head=HeadConfig(kind=head), audio=AudioConfig(width=16))


def without_while(row: Row) -> Row | None:
    return None if row["relation"] == "while" else row


def miniature(**changes: Any) -> Experiment:
    arms = tuple(
        Arm(
            head.value,
            corpus,
            make_config(
                model=small_model(head), stages=(Stage(steps=2),), batch=8, checkpoint_every=1
            ),
        )
        for head, corpus in ((HeadKind.TRANSFORMER, "pairs"), (HeadKind.MLP, "ordered"))
    )
    bat = Cell("transformer", "order.bat")
    values: dict[str, Any] = {
        "name": "miniature",
        "title": "A paper",
        "scale": Scale.TINY,
        "source": "foley",
        "setup": "Very small.",
        "corpora": {
            "pairs": Spec.model_validate(merged(TINY, {})),
            "ordered": CorpusView(("pairs",), without_while),
        },
        "arms": arms,
        "exams": (make_exam("order", "pairs", Task.BAT),),
        "lines": (Line("order.bat", "BAT", {"mlp": 0.5}),),
        "claims": (claim_near("at chance", bat, 0.5, within=0.51),),
    }
    return Experiment(**values | changes)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("experiments"))


@pytest.fixture(scope="module")
def outcome(machine: Machine) -> ExperimentOutcome:
    return carry_out(miniature(), (0, 1), machine, UNOBSERVED)


def test_every_arm_is_trained_and_found(outcome: ExperimentOutcome, machine: Machine) -> None:
    assert [(run.arm.name, run.seed) for run in outcome.runs] == [
        ("transformer", 0),
        ("transformer", 1),
        ("mlp", 0),
        ("mlp", 1),
    ]
    assert {len(each) for metrics in outcome.metrics.values() for each in metrics.values()} == {2}
    assert set(outcome.metrics["mlp"]) == {"order.bat"}
    model = machine.out / "models" / "miniature-tiny-foley" / "transformer-seed-1"
    assert model.resolve() == outcome.runs[1].config.out.resolve()
    assert (model / MODEL_FILE).is_file()


def test_what_is_done_is_not_done_again_and_results_are_the_same(
    outcome: ExperimentOutcome, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "train", None)
    again = carry_out(miniature(), (0, 1), machine, UNOBSERVED)
    assert again.seconds == {}
    for name, each in (("first", outcome), ("second", again)):
        write_results(each, "segue reproduce miniature", tmp_path / name)
    for suffix in ("json", "md", "svg"):
        name = f"miniature-tiny-foley.{suffix}"
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_a_plot_tells_many_arms_apart(outcome: ExperimentOutcome, tmp_path: Path) -> None:
    # The eighth arm and those after it had the colours of the first.
    first = outcome.experiment.arms[0]
    arms = tuple(replace(first, name=f"arm {number}") for number in range(9))
    metrics = {arm.name: outcome.metrics[first.name] for arm in arms}
    experiment = replace(outcome.experiment, arms=arms, claims=())
    draw(replace(outcome, experiment=experiment, metrics=metrics), tmp_path / "plot.svg")
    picture = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert picture.count("<pattern ") == 2, "seven are plain, and two of their colours hatched"


def test_a_claim_without_test_is_refused(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "train", None)
    cell = Cell("transformer", "order.negatives_longer")
    for asked in (
        {"claims": (claim_near("of another kind", cell, 0.5),)},
        {"lines": (Line(cell.metric, "longer"),)},
    ):
        with pytest.raises(SpecError, match=r"miniature: .* tests lack order\.negatives_longer"):
            carry_out(miniature(**asked), (0,), machine, UNOBSERVED)


def test_a_name_that_no_corpus_can_have_is_refused_before_work_begins() -> None:
    # acba's "+acba" made a view whose own corpus.json was refused when it was opened.
    with pytest.raises(SpecError, match=r"miniature: a corpus is called '\+pairs'"):
        miniature(corpora={"+pairs": CorpusView(("pairs",))})


def test_a_device_that_is_not_there_is_refused_before_work_begins(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="device 'no-such'"):
        carry_out(miniature(), (0,), Machine(tmp_path, device="no-such"), UNOBSERVED)
    assert not [*tmp_path.iterdir()]


def test_samples_of_other_corpora_take_part(machine: Machine) -> None:
    alone = miniature().arms[0]
    mixed = replace(alone, mixed={"ordered": 0.25})
    made = carry_out(miniature(arms=(alone, mixed), claims=()), (0,), machine, UNOBSERVED)
    one, other = made.runs
    assert one.digest != other.digest
    assert [(each.corpus.parent.name, each.weight) for each in other.config.mix] == [
        ("miniature-ordered", 0.25)
    ]


def test_some_arms_alone_are_trained_and_no_claim_about_others_is_judged(
    outcome: ExperimentOutcome, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "train", None)
    some = carry_out(miniature().select_arms(["mlp"]), (0, 1), machine, UNOBSERVED)
    assert some.metrics == {"mlp": outcome.metrics["mlp"]}
    assert some.experiment.claims == ()
    paths = write_results(some, "segue reproduce miniature --arm mlp", tmp_path)
    assert paths["md"].name == "miniature-tiny-foley-some-arms.md"
    whole = miniature()
    assert whole.select_arms(["mlp", "transformer"]) == whole
    with pytest.raises(SpecError, match=r"--arm transfomer.*did you mean 'transformer'"):
        whole.select_arms(["transfomer"])


def test_views_and_tests_are_told_of_first(outcome: ExperimentOutcome, machine: Machine) -> None:
    # The views of 50,000 scenes take seven seconds, in which nothing was told.
    seen = Phases()
    carry_out(outcome.experiment, outcome.seeds, machine, seen)
    assert seen.ended[-4:] == ["views", "plan tests", "train", "test"]
    assert (seen.counted["views"], seen.counted["plan tests"]) == (1, 1)


class NoteKeeper(Silent):
    """Keeps the notes of a phase."""

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self.notes: list[tuple[int, str]] = []

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        if phase == self._phase:
            self.notes.append((units, note))


def test_reading_the_corpus_before_the_first_step_shows_and_is_no_step(tmp_path: Path) -> None:
    # Of 50,000 scenes it takes a minute and a half, in which nothing was told.
    seen = NoteKeeper("train")
    made = carry_out(
        miniature().select_arms(["transformer"]), (0,), Machine(tmp_path), seen, ExamSplit.TEST
    )
    (first, *_) = seen.notes
    assert first[0] == 0
    assert re.fullmatch(r"transformer, seed 0: [\d,]+ samples read", first[1])
    assert sum(units for units, _ in seen.notes) == made.runs[0].config.steps


def test_a_library_without_the_split_is_refused_before_training(
    outcome: ExperimentOutcome, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "train", None)
    with pytest.raises(CorpusError, match=r"no split 'val' \(it has train, test\)"):
        carry_out(miniature(), (0, 1, 2), machine, UNOBSERVED, ExamSplit.VAL)


def test_only_lost_runs_are_trained_again(outcome: ExperimentOutcome, machine: Machine) -> None:
    lost, killed = outcome.runs[1], outcome.runs[2]
    shutil.rmtree(lost.config.out)
    (killed.config.out / MODEL_FILE).unlink()
    again = carry_out(miniature(), (0, 1), machine, UNOBSERVED)
    assert {arm: list(each) for arm, each in again.seconds.items()} == {
        lost.arm.name: [lost.seed],
        killed.arm.name: [killed.seed],
    }
    assert again.metrics == outcome.metrics


def test_the_command_prints_and_writes_the_same_figures(
    outcome: ExperimentOutcome,
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(registry, "find_experiment", lambda *_: miniature())
    command = partial(
        reproduce_command,
        "miniature",
        seeds=2,
        out=machine.out,
        results=tmp_path,
        workers=0,
        observer=UNOBSERVED,
    )
    printed = json.loads(json.dumps(command().facts))
    written = json.loads((tmp_path / "miniature-tiny-foley.json").read_text())
    assert printed["metrics"] == written["metrics"]
    assert printed["command"] == "segue reproduce miniature --scale tiny --seeds 2"
    command().show()
    assert "holds" in capsys.readouterr().out
    printed = command(arm=["mlp"]).facts
    assert printed["command"] == "segue reproduce miniature --scale tiny --seeds 2 --arm mlp"
    assert set(printed["metrics"]) == {"mlp"}


def test_another_setting_makes_another_run(outcome: ExperimentOutcome, machine: Machine) -> None:
    first = outcome.runs[0]
    folders = {"pairs": first.config.corpus}
    assert runner.place_run(first.arm, 0, folders, machine) == first
    slower = Arm("transformer", "pairs", first.arm.config.model_copy(update={"lr": 1e-4}))
    assert runner.place_run(slower, 0, folders, machine).config.out != first.config.out
    assert runner.place_run(first.arm, 5, folders, machine).config.out != first.config.out


def test_results_name_digests_and_what_is_of_validation(
    outcome: ExperimentOutcome, tmp_path: Path
) -> None:
    paths = write_results(outcome, "segue reproduce miniature --seeds 2", tmp_path)
    found = json.loads(paths["json"].read_text())
    assert found["seeds"] == [0, 1]
    assert found["command"] == "segue reproduce miniature --seeds 2"
    assert len(found["corpora"]["pairs"]["digest"]) == 64
    assert set(found["arms"]["mlp"]["runs"]) == {"0", "1"}
    assert {"python", "torch", "numpy"} <= set(found["versions"])
    metric = found["metrics"]["mlp"]["order.bat"]
    assert metric["low"] <= metric["value"] <= metric["high"]
    assert metric["chance"] == 0.5
    assert len(metric["by_seed"]) == 2
    text = paths["md"].read_text()
    assert "| mlp | " in text
    assert "at chance" in text
    assert "<svg" in paths["svg"].read_text()
    chosen = replace(outcome, split=ExamSplit.VAL)
    paths = write_results(chosen, "segue reproduce miniature --split val", tmp_path)
    assert paths["md"].name == "miniature-tiny-foley-val.md"
    assert "these are no results" in paths["md"].read_text()


def test_a_view_holds_what_is_kept_and_never_nothing(
    outcome: ExperimentOutcome, machine: Machine
) -> None:
    whole, view = (Corpus.open(outcome.runs[k].config.corpus) for k in (0, 2))
    assert view.samples("train").num_rows == whole.samples("train").num_rows * 2 // 3
    row = view.samples("train").to_pylist()[0]
    stored = view.stored_pcm("train", row["shard"], row["offset"], row["size"])
    assert (stored == view.virtual_pcm(row)).all()
    nothing = CorpusView(("pairs",), lambda row: None)
    corpora = {**miniature().corpora, "ordered": nothing}
    with pytest.raises(SpecError, match="no sample is left"):
        carry_out(miniature(corpora=corpora), (0,), machine, UNOBSERVED)


def test_a_probe_of_a_split_has_one_sound_for_each_meaning(outcome: ExperimentOutcome) -> None:
    folder = outcome.runs[0].config.corpus
    found = make_probe_exam("swap", "pairs", Probe.PTE).benchmark({"pairs": folder}, ExamSplit.TEST)
    # Four classes: six pairs before, six after, and six together, which the probe leaves out.
    assert found.allowed == (Task.PTE,)
    assert len(found.sounds) == 18
    assert len(found.plans()[Task.PTE].texts) == 2 * 12


def test_unknown_names_are_told_with_what_was_meant() -> None:
    with pytest.raises(SpecError, match="did you mean 'acba'"):
        find_experiment("acbaa", "tiny")
    with pytest.raises(SpecError, match="did you mean 'tiny'"):
        find_experiment("acba", "tny")
    with pytest.raises(SpecError, match=r"acba has no such scale.*choose tiny, small, paper"):
        find_experiment("acba", "medium")
    with pytest.raises(SpecError, match="did you mean 'val'"):
        parse_exam_split("vall")
    with pytest.raises(SpecError, match=r"--source: esc10: root: Field required"):
        SoundLibrary.parse("esc10")
    with pytest.raises(SpecError, match="'esc50'"):
        SoundLibrary.parse("esc5:somewhere")


@pytest.mark.parametrize(
    ("name", "scale"), [*product(EXPERIMENTS, PAPERS_SCALES), ("together", Scale.MEDIUM)]
)
def test_every_experiment_speaks_of_arms_and_metrics_that_it_has(name: str, scale: Scale) -> None:
    made = find_experiment(name, scale)
    arms = {arm.name for arm in made.arms}
    exams = {exam.name for exam in made.exams}
    cells = [cell for claim in made.claims for cell in claim.cells]
    assert {cell.arm for cell in cells} <= arms
    assert {name for arm in made.arms for name in (arm.corpus, *arm.mixed)} <= set(made.corpora)
    metrics = {cell.metric for cell in cells} | {line.metric for line in made.lines}
    assert {metric.partition(".")[0] for metric in metrics} <= exams
    assert {arm for line in made.lines for arm in line.paper} <= arms
    assert len({claim.text for claim in made.claims}) == len(made.claims)


def test_settings_are_chosen_on_a_fold_that_is_neither_learnt_from_nor_for_tests() -> None:
    shipped = SoundLibrary("foley")
    assert shipped.splits == {"train": ["1", "2", "3"], "val": ["4"], "test": ["5"]}
    assert shipped.hold_out_val().splits == shipped.splits
    folds = {"train": ["1", "2", "3"], "test": ["4"]}
    chosen = SoundLibrary("esc10", known_splits=folds).hold_out_val()
    assert chosen.splits == {"train": ["1", "2"], "val": ["3"], "test": ["4"]}
    assert chosen.hold_out_val() == chosen


def test_a_librarys_own_splits_are_kept(tmp_path: Path) -> None:
    for folds, splits in (
        ("1 2 3 4", {"train": ["1", "2", "3"], "test": ["4"]}),
        ("4", SHARES),
        ("development evaluation", {"train": ["development"], "test": ["evaluation"]}),
    ):
        rows = [f"{name}.wav,dog,{name}" for name in folds.split()]
        (tmp_path / "index.csv").write_text("\n".join(["path,label,split", *rows]) + "\n")
        library = SoundLibrary("folder", {"root": tmp_path, "index": "index.csv"})
        assert library.splits == splits
        assert library.is_labelled


def measured(*values: float, half: float = 0.02) -> tuple[Metric, ...]:
    return tuple(Metric(value, value - half, value + half, 0.5, 100) for value in values)


def test_intervals_hold_seeds_and_items_and_differences_go_seed_by_seed() -> None:
    alone = estimate_metric(measured(0.7))
    assert (alone.low, alone.high) == pytest.approx((0.68, 0.72))
    same = estimate_metric(measured(0.7, 0.7, 0.7))
    assert (same.low, same.high) == pytest.approx((0.68, 0.72)), "more seeds give no more items"
    spread = estimate_metric(measured(0.6, 0.7, 0.8, half=0.0))
    # Student's t of two degrees of freedom: 4.303 * 0.1 / sqrt(3).
    assert spread.high - spread.value == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)
    assert estimate_metric(measured(0.9, 1.0, 1.0, half=0.0)).high == 1.0
    found = estimate_difference(measured(0.7, 0.8, half=0.0), measured(0.5, 0.6, half=0.0))
    assert (found.low, found.value, found.high) == pytest.approx((0.2, 0.2, 0.2))


def test_two_arms_on_the_same_items_are_compared_draw_by_draw() -> None:
    points = np.random.default_rng(0).integers(2, size=50).astype(float)
    better_by_a_tenth = np.clip(points + (np.arange(50) % 10 == 0), 0, 1)
    one, other = (
        measure(mean_of(each), 50, None, 0.5, seed=0) for each in (better_by_a_tenth, points)
    )
    same = estimate_difference([one], [one])
    assert (same.low, same.high) == (0.0, 0.0)
    alone = replace(other, draws=None)
    paired, unpaired = estimate_difference([one], [other]), estimate_difference([one], [alone])
    assert paired.value == unpaired.value > 0
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 2
    # The difference of 50 items is a mean of zeros and ones, too.
    spread = float(np.std(better_by_a_tenth - points)) / math.sqrt(50)
    assert paired.high - paired.value == pytest.approx(1.96 * spread, rel=0.1)
    elsewhere = measure(mean_of(points), 50, None, 0.5, seed=1)
    assert estimate_difference([one], [elsewhere]).high == pytest.approx(unpaired.high, rel=0.1)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Claim("a over b", Cell("a", "m"), Cell("b", "m"), above=0.0), ClaimVerdict.HOLDS),
        (Claim("b over a", Cell("b", "m"), Cell("a", "m"), above=0.0), ClaimVerdict.FAILS),
        (Claim("by far", Cell("a", "m"), Cell("b", "m"), above=0.39), ClaimVerdict.IN_MEAN),
        (claim_near("at chance", Cell("b", "m"), 0.5), ClaimVerdict.HOLDS),
        (claim_near("at chance", Cell("a", "m"), 0.5), ClaimVerdict.FAILS),
        (claim_alike("the same", Cell("a", "m"), Cell("a", "m")), ClaimVerdict.HOLDS),
        (Claim("aim", Cell("a", "m"), above=0.89), ClaimVerdict.IN_MEAN),
        (Claim("at most", Cell("b", "m"), below=0.55), ClaimVerdict.HOLDS),
    ],
)
def test_claims_are_judged_by_their_whole_interval(claim: Claim, verdict: ClaimVerdict) -> None:
    results = {"a": {"m": measured(0.89, 0.9, 0.91)}, "b": {"m": measured(0.49, 0.5, 0.51)}}
    assert judge(claim, results).verdict is verdict


def test_an_unordered_caption_names_both_sounds_and_no_order() -> None:
    assert drop_order("A dog barks before rain falls") == "A dog barks and rain falls"
    assert drop_order("After rain falls, a dog barks") == "Rain falls and a dog barks"


def test_most_of_the_original_captions_tell_no_order() -> None:
    claim = '{"crossfade":0,"sequence":[{"event":"dog"},{"event":"rain"}]}'
    row = {"caption": "A dog barks before rain falls", "claim": claim, "recipe": "acba"}
    row |= {"relation": "before"}
    rows = [row | {"group": f"g{k}", "positives": [1], "negatives": [1]} for k in range(500)]
    kept = [each for each in map(mostly_unordered, rows) if each["relation"]]
    assert 2 < len(kept) < 25
    changed = mostly_unordered(rows[0])
    assert changed["negatives"] == []
    assert "and" in json.loads(changed["claim"])
    assert nouns_and_verbs_only(rows[0])["caption"] == "dog barks rain falls"


# The demo's own spec. The demo itself runs at the end of `.ci/run`.


def test_the_demo_holds_out_folds_that_are_there() -> None:
    spec = make_demo_spec(None, "4,5")
    assert spec.corpus == "demo"
    assert {name: list(folds) for name, folds in spec.splits.items()} == {
        "train": ["1", "2", "3"],
        "test": ["4", "5"],
    }
    with pytest.raises(SpecError, match=r"--test-folds 9.*1, 2, 3, 4, 5"):
        make_demo_spec(None, "9")


# The page that compares models can be read by anybody.


@pytest.mark.parametrize("mode", MODES[::3], ids=str)
@pytest.mark.slow
def test_it_is_named_ordered_and_readable(sets: Path, tmp_path: Path, mode: dict[str, Any]) -> None:
    segue_here("bench", "run", "random", "bag-of-words:random", "--sets", sets, "--out", tmp_path)
    with launched() as browser:
        reader = Reader(browser, reduced_motion="reduce", **mode)
        page = reader.open((tmp_path / "compare.html").as_uri())
        page.locator("summary").first.click()
        check_accessible(page)
        reader.close()


@pytest.mark.slow
def test_hundreds_of_models_are_grouped_folded_and_filtered(sets: Path, tmp_path: Path) -> None:
    segue_here("bench", "run", "random", "--sets", sets, "--out", tmp_path)
    (scored,) = read_results(tmp_path)
    names = [
        f"out/experiment-{experiment}/runs/arm-{arm}-seed-{seed}"
        for experiment in "abcde"
        for arm in "abcdefghijklmnopq"
        for seed in range(3)
    ]
    results = [scored.model_copy(update={"model": name}) for name in names]
    page = tmp_path / "many.html"
    page.write_text(compare_page(results).html)
    with launched() as browser:
        for width in (1440, 390):
            view = {"width": width, "height": 900}
            reader = Reader(browser, reduced_motion="reduce", viewport=view)
            shown = reader.open(page.as_uri())
            assert shown.evaluate("document.documentElement.scrollHeight") < 6000
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            rows = shown.locator("#overview-text ~ .scroll tbody tr[data-name]")
            assert rows.count() == len(names) // 3
            assert rows.first.inner_text().split()[:3] == ["arm-a", "3", "seeds"]
            shown.get_by_label("Show only").fill("experiment-c/runs/arm-b")
            assert rows.locator("visible=true").count() == 1
            shown.get_by_label("Show only").fill("")
            if folder := os.environ.get("SEGUE_SCREENSHOTS_COMPARE"):
                shown.screenshot(path=f"{folder}/compare-{width}.png")
            check_accessible(shown)
            reader.close()
