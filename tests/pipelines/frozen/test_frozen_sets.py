"""Frozen test sets: one digest however they are built, and what differs is refused by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import yaml

from benchmarks.publish import publish
from pipelines.frozen.description import open_set, read_records, shipped_sets
from pipelines.frozen.digests import read_published
from synth.base.errors import SegueError, SpecError
from synth.sources import source_class
from tests.kit.builds import segue_here
from tests.kit.started import count_receipts, kill, start_segue
from tests.kit.tables import read_data
from tests.kit.waiting import wait_for

DESCRIPTION = read_data("sets/order_of_shards.yaml")


@pytest.fixture
def tiny_set(tmp_path: Path) -> Path:
    path = tmp_path / "tiny-v1.yaml"
    path.write_text(yaml.safe_dump(DESCRIPTION), encoding="utf-8")
    return path


@pytest.fixture
def bench(tiny_set: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Builds the tiny set; gives the last line of JSON."""

    def run(*more: str | Path, out: str = "out", name: str | Path = tiny_set) -> dict[str, Any]:
        where = (name, "--out", tmp_path / out, *more)
        if "--folder" in more:  # for maintainers
            try:
                return {"sets": [made.to_json() for made in publish([str(word) for word in where])]}
            except SegueError as error:
                return {"error": error.message}
        ended = segue_here("bench", "build", *where, "--json")
        found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        return found

    return run


def digest_of(found: dict[str, Any]) -> str:
    (built,) = found["sets"]
    return str(built["digest"])


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    """A folder of recordings, a folder a label, made of foley."""
    root = tmp_path / "sounds"
    foley = source_class("foley").model_validate({"takes": 4})
    for ref in foley.refs():  # type: ignore[attr-defined]
        label = ref.labels[0]
        if label in ("dog", "rain", "siren", "wind"):
            path = root / label / f"{ref.id.rpartition('-')[2]}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            found = foley.load(ref)  # type: ignore[attr-defined]
            soundfile.write(path, found.audio, found.rate, subtype="PCM_16")
    return root


@pytest.mark.slow
def test_workers_and_kills_leave_the_digest_as_it_is(
    bench: Callable[..., dict[str, Any]], tiny_set: Path, tmp_path: Path
) -> None:
    alone = bench("--workers", "1", "--folder", tmp_path / "published")
    assert alone["sets"][0]["text_only"]["value"] <= 0.52
    two = bench("--workers", "2", out="two")
    assert two["sets"][0]["published"]
    assert digest_of(two) == digest_of(alone)

    killed = tmp_path / "killed"
    shutil.copytree(tmp_path / "out" / "banks", killed / "banks")
    process = start_segue("bench", "build", tiny_set, "--out", killed, "--workers", "0")
    assert wait_for(lambda: count_receipts(killed) > 0)
    kill(process)
    assert not (killed / "sets").exists()
    assert digest_of(bench("--workers", "0", out="killed")) == digest_of(alone)


@pytest.mark.slow
def test_a_library_that_differs_is_refused_before_anything_is_rendered(
    bench: Callable[..., dict[str, Any]], sounds: Path, tmp_path: Path
) -> None:
    source = ("--source", f"folder:{sounds}", "--workers", "0")
    first = bench(*source)
    assert not first["sets"][0]["published"], "nobody published it yet"
    published = bench(*source, "--folder", tmp_path / "published")
    assert digest_of(published) == digest_of(first)

    elsewhere = shutil.copytree(sounds, tmp_path / "elsewhere" / "copy")
    moved = bench("--source", f"folder:{elsewhere}", "--workers", "0", out="moved")
    assert digest_of(moved) == digest_of(first), "where a library lies does not count"

    path = elsewhere / "dog" / "00002.wav"
    audio, rate = soundfile.read(path)
    soundfile.write(path, np.concatenate([audio[:-1], [0.01]]), rate, subtype="PCM_16")
    (elsewhere / "siren" / "00003.wav").unlink()
    tampered = bench("--source", f"folder:{elsewhere}", "--workers", "0", out="tampered")
    assert "tiny-v1 over folder has other clips than the published set" in tampered["error"]
    assert "dog: other files; siren: 3 of 4 clips" in tampered["error"]
    assert tampered["fix"]
    assert not (tmp_path / "tampered" / "shards").exists()
    assert not (tmp_path / "tampered" / "sets").exists()


def test_a_part_of_a_library_is_not_published(
    bench: Callable[..., dict[str, Any]], tiny_set: Path, tmp_path: Path
) -> None:
    told = yaml.safe_load(tiny_set.read_text(encoding="utf-8"))
    told["sources"]["foley"] |= {"clips": 20, "test": [1, 2]}
    tiny_set.write_text(yaml.safe_dump(told), encoding="utf-8")
    refused = bench("--workers", "0", "--folder", tmp_path / "published")
    assert "this copy lists 8 of 20 clips of its own split 1, 2, from which" in refused["error"]
    assert not (tmp_path / "published").exists()


def test_what_differs_is_refused(bench: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    bench("--workers", "0", "--folder", tmp_path / "published")
    path = tmp_path / "published" / "tiny-v1-foley.json"
    told = json.loads(path.read_text())
    for changes, what in (
        ({"digest": "0" * 64}, "other audio"),
        ({"plan": "0" * 64}, "another plan"),
        ({"plan": "0" * 64, "libraries": {"numpy": "1.0"}}, "published with numpy==1.0"),
        ({"plan": "0" * 64, "algorithms": {"plan": 1}}, "algorithm plan: 1 there, "),
    ):
        path.write_text(json.dumps(told | changes))
        assert what in bench("--workers", "0")["error"]
    again = bench("--workers", "0", "--folder", tmp_path / "published")
    assert "publishes another digest" not in again.get("error", ""), "only its plan is another"
    path.write_text(json.dumps(told | {"digest": "0" * 64}))
    again = bench("--workers", "0", "--folder", tmp_path / "published")
    assert "publishes another digest" in again["error"]


def test_wrong_descriptions_and_sources_are_told(tiny_set: Path, tmp_path: Path) -> None:
    def refusal(path: Path | str, **settings: Any) -> str:
        source = source_class(settings.pop("name", "foley")).model_validate(settings)
        with pytest.raises(SpecError) as found:
            open_set(str(path)).make_spec(source)
        return str(found.value)

    assert "did you mean 'order-v3'" in refusal("order-v4")
    assert "git checkout d77aaa4d" in refusal("order-v1")
    assert "git checkout c35bae43" in refusal("order-v2")
    assert "git checkout f26cc880" in refusal("binding-v3")
    assert "or take binding-v5" in refusal("binding-v1")
    assert "not defined over jam" in refusal(tiny_set, name="jam")
    assert "sets takes of foley itself" in refusal(tiny_set, takes=7)
    for name, changes, what in (
        ("Tiny.yaml", {}, "like its set: NAME-vN"),
        ("a-v1.yaml", {"backwards": "sideways"}, "backwards"),
        ("b-v1.yaml", {"spec": {"recipe": {"triplets": {"style": "grand"}}}}, "style"),
    ):
        path = tmp_path / name
        path.write_text(yaml.safe_dump(DESCRIPTION | changes), encoding="utf-8")
        assert what in refusal(path)


def test_every_set_that_ships_is_published_over_foley_and_fits_its_sources(tmp_path: Path) -> None:
    names = {each.name for each in shipped_sets()}
    tasks = "order simultaneity binding negation presence count duration loudness composed moments"
    assert {name.partition("-")[0] for name in names} == {*tasks.split()}
    for each in shipped_sets():
        assert read_published(each.digest_file("foley")) is not None, each.name
        for source in each.description.sources:
            settings = {} if source == "foley" else {"root": tmp_path}
            assert each.make_spec(source_class(source).model_validate(settings))


@pytest.mark.slow
def test_a_shipped_set_is_what_is_published(
    bench: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    found = bench("--workers", "0", name="presence-v5")
    assert found["sets"][0]["published"], found
    (record,) = read_records(tmp_path / "out")
    assert record.digest == digest_of(found)
