"""Commands for models as they are called: train, and any CLAP tested, tuned and exported."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from pipelines.look.report.corpus import run_page
from synth.base.errors import SpecError
from synth.base.progress import UNOBSERVED
from tests.kit.builds import segue_here
from tests.kit.tiny_models import CLAP_RATE, CLAP_SECONDS, save_clap
from train.bench.evaluate import Evaluation, evaluate
from train.bench.metrics.measure import Metric
from train.cli.eval import eval_command, result_json
from train.cli.export import export_command
from train.cli.train import make_config, train_command
from train.config.model import HeadKind, TokenKind
from train.config.run import Stage, TrainConfig
from train.data.recordings import RECORDINGS_FILE
from train.engine.loop import train
from train.engine.presets import FRAMES_WEIGHT
from train.engine.run_folder import load_run
from train.export.files import ModelFormat
from train.export.opening import open_clap, open_model
from train.report.results import read_evaluations

FIELDS = {"value", "low", "high", "chance", "n"}


def test_the_demo_is_the_default_where_something_comes_before(corpus: Path) -> None:
    config = make_config(corpus, None, None, None, False, None, None, None)
    assert [stage.relations for stage in config.stages] == [("before",), ()]
    assert config.model.frames
    assert [stage.frames for stage in config.stages] == [FRAMES_WEIGHT] * 2


@pytest.mark.parametrize(
    "recipe",
    [
        {"triplets": {"stage_a": True, "max_event_s": 1.0}},
        pytest.param(
            {"acba": {"pairs": {"train": 12}, "relations": ["then", "followed by"]}},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["stage_a", "then"],
)
def test_a_corpus_without_before_trains_by_default(
    build_corpus: Callable[..., Path], recipe: dict[str, object], tmp_path: Path
) -> None:
    corpus = build_corpus(recipe=recipe, splits={"train": [1, 2, 3]})
    config = make_config(corpus, None, None, None, False, 2, None, tmp_path / "run")
    assert config.stages == (Stage(steps=2, frames=FRAMES_WEIGHT),)
    assert config.keep_groups
    assert train(config).finished


def test_a_corpus_without_times_trains_by_default(
    build_corpus: Callable[..., Path], tmp_path: Path
) -> None:
    corpus = build_corpus(
        source={"jam": {"tracks": 10}}, recipe={"negation": {}}, splits={"train": 0.9, "test": 0.1}
    )
    config = make_config(corpus, None, None, None, False, 2, None, tmp_path / "run")
    assert config.stages == (Stage(steps=2),)
    assert not config.model.frames
    assert train(config).finished


@pytest.mark.parametrize(
    ("others", "words"),
    [
        pytest.param({"test": [4]}, [], marks=pytest.mark.slow),
        ({}, ["--split", "train"]),
    ],
)
def test_the_test_that_is_named_next_can_be_done(
    build_corpus: Callable[..., Path],
    others: dict[str, list[int]],
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus, run = build_corpus(splits={"train": [1, 2, 3], **others}), tmp_path / "run"
    result = train_command(corpus, steps=2, out=run, observer=UNOBSERVED)
    result.show()
    last = capsys.readouterr().out.splitlines()[-1]
    following = ["segue", "eval", str(run), str(corpus), *words]
    assert shlex.split(last.removeprefix("next: ")) == following


def test_json_has_the_shape_of_metrics(
    settings: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings()
    monkeypatch.setattr("train.cli.train.make_config", lambda *options: config)
    result = train_command(config.corpus, as_json=True, observer=UNOBSERVED)
    found: Any = json.loads(json.dumps(result.facts))
    assert all(set(fact) == FIELDS for fact in found.values())
    assert {"loss", "samples_per_s", "data_wait", "step", "best_step"} < set(found)
    assert found["step"]["value"] == 12
    assert found["loss"]["chance"] == pytest.approx(math.log(config.batch))
    assert found["loss"]["low"] is found["step"]["chance"] is None
    validated = {name: metric for name, metric in found.items() if name.startswith("val_")}
    measured = evaluate(config.out, config.corpus, "val")
    assert validated == {f"val_{name}": one.to_json() for name, one in measured.items()}
    assert "val_bat" in validated


def test_json_of_a_test_counts_what_was_left_out_beside_the_metrics() -> None:
    bat = Metric(0.75, 0.5, 0.9, 0.5, 12)
    found = Evaluation({"bat": bat}, {"model": "m"}, {"negatives: samples without a false text": 3})
    assert result_json(found) == {
        "bat": bat.to_json(),
        "_left_out": {"negatives: samples without a false text": 3},
    }
    assert result_json(replace(found, left_out={})) == {"bat": bat.to_json()}


def test_a_spec_is_told_from_a_corpus(tmp_path: Path) -> None:
    spec = tmp_path / "mine.yaml"
    spec.write_text("corpus: mine\n")
    for command in (partial(train_command, spec), partial(eval_command, tmp_path, spec)):
        with pytest.raises(SpecError, match=r"mine\.yaml: is a spec, not a corpus") as error:
            command(observer=UNOBSERVED)
        assert "data_manifests/mine" in str(error.value.fix)


def test_without_val_the_last_weights_are_kept_and_that_is_told(
    build_corpus: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = build_corpus(splits={"train": [1, 2, 3, 4], "test": [5]})
    result = train_command(corpus, steps=2, out=tmp_path / "run", observer=UNOBSERVED)
    result.show()
    assert "no split val: the last weights are kept" in capsys.readouterr().out
    told = run_page(tmp_path / "run").html
    assert "No split val: the last weights are kept." in told
    assert json.loads((tmp_path / "run" / RECORDINGS_FILE).read_text())["recordings"]


# Any CLAP: tested as it is, fine-tuned, tested again, exported, and tested as exported.


@pytest.fixture(scope="module")
def clap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clap(tmp_path_factory.mktemp("clap"))


@pytest.fixture(scope="module")
def sounds(build_corpus: Callable[..., Path]) -> Path:
    audio = {"sample_rate": CLAP_RATE, "length": f"exact {CLAP_SECONDS} s"}
    return build_corpus(audio=audio)


def test_a_clap_is_fine_tuned_exported_and_tested(clap: Path, sounds: Path, tmp_path: Path) -> None:
    from transformers import ClapModel

    before = set(clap.iterdir())
    found = eval_command(clap, sounds, observer=UNOBSERVED).facts
    assert {"bat", "triplets", "audio_to_text_r1"} <= found.keys()
    assert set(clap.iterdir()) == before  # no run of ours: nothing is written there
    run, exported = tmp_path / "run", tmp_path / "exported"
    train_command(sounds, clap=str(clap), steps=4, out=run, observer=UNOBSERVED)
    tuned = eval_command(run, sounds, observer=UNOBSERVED).facts
    (tested,) = read_evaluations(run)
    assert {name: each.to_json() for name, each in tested.metrics.items()} == tuned
    assert tested.name == f"eval-{sounds.name}-test"
    told: Any = export_command(run, exported, ModelFormat.TRANSFORMERS, observer=UNOBSERVED).facts
    assert (told["out"], told["format"]) == (str(exported), "transformers")
    assert told["bytes"] == sum((exported / name).stat().st_size for name in told["files"])
    results = tmp_path / "results"
    assert eval_command(exported, sounds, out=results, observer=UNOBSERVED).facts == tuned
    assert json.loads((results / "metrics.json").read_text()) == tuned
    weights = [ClapModel.from_pretrained(folder).state_dict() for folder in (clap, exported)]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_head_of_ours_hears_a_claps_feature_map(clap: Path, sounds: Path, tmp_path: Path) -> None:
    run, results = tmp_path / "run", tmp_path / "results"
    train_command(
        sounds, clap=str(clap), head=HeadKind.TRANSFORMER, steps=2, out=run, observer=UNOBSERVED
    )
    assert load_run(run).config.model.audio.tokens is TokenKind.MAP
    done = segue_here("eval", run, sounds, "--task", "bat", "--out", results)
    assert done.returncode == 0, done.stderr
    assert "bat" in done.stdout
    assert json.loads((results / "metrics.json").read_text()).keys() == {"bat"}
    assert (results / "report.png").stat().st_size > 0


def test_a_plain_clap_is_what_transformers_makes_of_it(clap: Path) -> None:
    opened = open_model(clap)
    assert opened.sample_rate == CLAP_RATE
    assert torch.equal(opened.encode_text(["a dog"]), open_clap(str(clap)).encode_text(["a dog"]))
