"""`import segue`: what it offers, what it imports, and what is in its way."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

import segue
from synth.base.errors import SegueError
from tests.kit.builds import PLAIN, TINY
from tests.kit.cases import cases
from tests.kit.corpora import caching  # noqa: F401
from tests.synth.truth.oracle import judge_row
from train.engine.loop import TrainResult

ROOT = Path(__file__).resolve().parents[1]
SLOW = ("numpy", "torch", "prefect", "pandas", "pyarrow", "pydantic", "typer", "synth", "train")
MARK = "<script>alert(1)<"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of a user's, in a folder of theirs; Segue comes last of all places."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | PLAIN | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@cases(
    ("notation", "seed"),
    [
        ("dog", 0),
        ("dog + rain", 1),
        ("Church Bells * dog", 2),
        ("(dog + rain) * wind", 3),
        ("dog + siren + cat + rooster + car-horn", 4),
        ("animal + any", 5),
    ],
)
def test_what_is_told_of_a_scene_is_so(notation: str, seed: int) -> None:
    scene = segue.scene(notation, seed=seed)
    assert judge_row(scene.row) == []
    assert scene.captions()
    assert scene.negatives()
    assert all(negative.reason for negative in scene.negatives())
    assert len({*scene.captions(), *(each.text for each in scene.negatives())}) == len(
        scene.captions()
    ) + len(scene.negatives())
    pcm, rate = scene.render()
    assert len(pcm) == scene.row["frames"]
    assert all(0 <= start < end <= len(pcm) / rate + 0.005 for _, start, end in scene.timeline)


def test_operators_write_the_notation() -> None:
    dog, rain, wind = map(segue.sound, ("dog", "rain", "wind"))
    assert str((dog + rain) * wind) == "(dog + rain) * wind"
    one, same = (dog + rain) * wind, segue.scene("(dog + rain) * wind")
    assert one.captions() == same.captions()
    assert np.array_equal(one.render()[0], same.render()[0])
    assert str(segue.sound("dog", seed=2) + rain) == "dog + rain"
    with pytest.raises(SegueError, match="another seed"):
        segue.sound("dog", seed=2) + segue.sound("rain", seed=3)
    with pytest.raises(SegueError, match="another source"):
        dog + segue.sound("rain", source="folder:mine")
    assert repr(segue.scene("dog", seed=3)) == "segue.scene('dog', seed=3)"
    for call, kind in ((segue.open, "a spec"), (segue.train, "a spec")):
        with pytest.raises(SegueError, match=f"is {kind}, not a corpus"):
            call("docs/examples/triplets.yaml")
    with pytest.raises(TypeError):
        dog + 1  # type: ignore[operator]


@cases(
    ("notation", "told"),
    [
        ("dgo + rian", "'dgo' .did you mean 'dog'.*'rian' .did you mean 'rain'"),
        ("dog + dog", "could describe the same sound"),
        ("(dog + rain + cat) * (wind + siren)", "5 sounds.*write it as a"),
        ("dog +", "column 6: expected a label"),
    ],
)
def test_a_scene_that_cannot_be_is_one_clear_error(notation: str, told: str) -> None:
    with pytest.raises(SegueError, match=told):
        segue.scene(notation).captions()


def test_a_corpus_is_read_in_every_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = segue.build(TINY, out=tmp_path, workers=0)
    assert "12 shards rendered" in capsys.readouterr().err
    sample = corpus["test"][-1]
    assert corpus.sample(sample.id).row == sample.row
    assert [each.id for each in corpus] == corpus.pandas()["id"].tolist()
    assert len(corpus) == sum(len(corpus[split]) for split in corpus.splits)
    data = corpus.torch("test")
    assert np.array_equal(data[-1]["pcm"], sample.render()[0])
    assert data[-1]["negatives"] == [negative.text for negative in sample.negatives()]
    assert len(corpus.datasets("test")) == len(data)
    assert sample.row["caption"] in repr(sample)
    assert segue.open(corpus.path)["test"][0].id == corpus["test"][0].id
    for wrong in (lambda: corpus["none"], lambda: corpus.sample("none")):
        with pytest.raises(SegueError, match="none"):
            wrong()
    with pytest.raises(IndexError):
        corpus["test"][len(data)]


def test_a_picture_of_a_sample_holds_all_and_escapes_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for label in (MARK, "dog", "rain"):
        (tmp_path / label).mkdir()
        for take in range(2):
            noise = rng.normal(0, 0.1, 32_000)
            soundfile.write(tmp_path / label / f"{take}.wav", noise, 16_000)
    scene = segue.scene(f"{MARK} + dog", source=f"folder:{tmp_path}")
    html = scene._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    for part in ("<audio", "data:audio/", "<svg", "data:image/png", ">True", ">False"):
        assert part in html


def test_a_run_is_shown_as_a_table() -> None:
    run = TrainResult(Path("<b>/run"), 1200, True, 0.5, 900, 0.25, 64.0, 0.125)
    told = "1,200", "0.500", "of step 900, val_loss 0.250", "64 samples/s, data wait 12%"
    assert all(f"<td>{fact}</td>" in run._repr_html_() for fact in ("&lt;b&gt;/run", *told))
    stopped = replace(run, finished=False, best_loss=None, warning="too few <workers>")
    for part in ("1,200, stopped", "<td>of step 900</td>", "&lt;workers&gt;"):
        assert part in stopped._repr_html_()


def test_import_is_light() -> None:
    code = f"import sys, segue; print([name for name in {SLOW} if name in sys.modules])"
    assert run(ROOT, "-c", code).stdout == "[]\n"


LOAD = "import segue\nsegue.train, segue.sound('dog').captions"
BUILD = f"import segue\nprint(len(segue.build({TINY!r}, out='o', workers=2)))\n"


@cases(
    ("files", "words", "hidden"),
    [
        ({"go.py": BUILD}, ["go.py"], []),
        ({"train.py": LOAD}, ["train.py"], []),
        ({"go.py": BUILD, "train.py": "oops", "synth.py": "oops"}, ["go.py"], ["synth", "train"]),
        ({"go.py": LOAD, "train/a.wav": "", "pipelines/a.txt": ""}, ["go.py"], []),
        ({"go.py": LOAD, "synth/__init__.py": "oops"}, ["go.py"], ["synth"]),
        ({"pipelines.py": "oops"}, ["-m", "segue", "--version"], ["pipelines"]),
    ],
)
def test_segue_works_beside_what_is_named_alike(
    files: dict[str, str], words: list[str], hidden: list[str], tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    done = run(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "Segue has a package" in line]
    assert len(told) == bool(hidden), done.stderr
    assert all(str(tmp_path / name) in line for line in told for name in hidden)
    assert "Traceback" not in done.stderr


def test_a_module_that_is_imported_already_is_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    done = run(tmp_path, "-c", "import train, segue")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {tmp_path / 'train.py'} is imported already")
    assert "import segue before it" in last
