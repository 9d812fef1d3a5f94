"""What plan and build tell of a library: why clips are out, and what splits and lexicon lack."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
import yaml

from pipelines.builder.build import Summary, plan_library
from pipelines.builder.coverage import Coverage, Lacking, find_shares
from pipelines.builder.findings import Findings
from pipelines.cli.make.build import print_summary
from pipelines.cli.make.plan import describe_plan
from pipelines.config.spec import Spec, SplitName, split_rules
from pipelines.ingest.parts import count_refusals, format_refusals
from pipelines.ingest.remedies import find_remedy
from pipelines.store.places import Places
from pipelines.store.store import Store
from synth.audio.decoding.streams import ENDS_EARLY
from synth.base.command import CommandResult
from synth.base.errors import SegueError
from synth.base.progress import UNOBSERVED
from synth.sources.procedural.sources import Foley
from synth.sources.selection import split_finder
from tests.kit.cases import cases
from tests.kit.tables import read_data

SHORT = "is too short: {} s of sound; a crossfade of 0.5 s needs 1 s"
SPLITS: dict[SplitName, list[str]] = {"train": ["train", "extra"], "test": ["test"]}
LINES = (
    "  2 quarantined: is too short: 0.75 s of sound; a crossfade of 0.5 s needs 1 s "
    "(as dog/0.wav); `recipe.triplets.crossfade_s: 0.37` keeps them",
    "  1 quarantined: is silent (as cat/2.wav)",
    "note: no clip is from the library's split extra, which the spec names",
    "note: split test has no clip of: hound (1 of 2 labels)",
    "note: each of 2 splits needs a recording of its own, and there are fewer of hound: add some, "
    "or name fewer `splits`",
    "note: 1 label has no phrase and reads 'the sound of …'; to word it, paste this into the spec "
    "and mend it:",
    "  hound: {noun: a hound, clause: a hound is heard, gerund: a hound being heard}",
)


def refused(name: str, location: str, reason: str) -> dict[str, str]:
    stage = "recipe triplets" if "crossfade" in reason else "ingest"
    return {"id": name, "location": location, "stage": stage, "reason": reason}


REFUSED = [
    refused("a", "cat/2.wav", "is silent"),
    refused("b", "dog/0.wav", SHORT.format("0.75")),
    refused("hound-test", "dog/1.wav", SHORT.format("0.80")),
]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A plan's folder, with what findings are read from."""
    found = Places(Store(tmp_path), "tiny", "v1")
    found.manifests.mkdir(parents=True)
    clips = [
        {
            "id": f"{label}-{split}",
            "split": split,
            "source_split": split,
            "labels": [label],
            "recording": label,
            "onset": 0,
            "offset": 8000,
            "sample_rate": 8000,
        }
        for label in ("dog", "hound")
        for split in ("train", "test")
    ]
    captions = ["The sound of hound is heard before a dog barks"]
    pq.write_table(pa.Table.from_pylist(REFUSED), found.manifests / "quarantine.parquet")
    pq.write_table(pa.Table.from_pylist(clips), found.manifests / "clips.parquet")
    pq.write_table(pa.table({"caption": captions}), found.manifests / "plan.parquet")
    return found


def summary(places: Places, findings: Findings) -> Summary:
    return Summary(
        corpus="tiny",
        version="v1",
        samples=1,
        shards=1,
        rendered=1,
        skipped=0,
        quarantined=1,
        hours=0.1,
        excerpts_of_captioned_clips=0,
        seconds=1.0,
        paths={"manifests": str(places.manifests), "shards": "s"},
        findings=findings,
    )


def describe(places: Places) -> CommandResult:
    """What `segue plan` tells of them."""
    findings = Findings.read(places.manifests, SPLITS)
    return describe_plan(Foley(), places, 1, 0.1, (), findings)


def test_plan_and_build_say_the_same(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    describe(places).show()
    planned = capsys.readouterr().out
    print_summary(summary(places, Findings.read(places.manifests, SPLITS)))
    built = capsys.readouterr().out
    for line in (*LINES, f"quarantine {places.manifests}/quarantine.parquet"):
        assert line in planned.splitlines()
        assert line in built.splitlines()
    assert "tiny v1: 1 sample, " in planned
    assert "1 shard rendered, 0 already there, 1 clip quarantined" in built
    told = json.loads(json.dumps(describe(places).facts))["findings"]
    built = summary(places, Findings.read(places.manifests, SPLITS)).to_json()
    assert json.loads(json.dumps(built))["findings"] == told
    assert told["lacking"] == [{"split": "test", "labels": ["hound"], "of": 2}]
    assert told["unphrased"] == ["hound"]
    assert told["refusals"][0]["clips"] == 2


def test_labels_that_no_caption_tells_of_need_no_phrase(places: Places) -> None:
    captions = pa.table({"caption": ["hound before dog"]})
    pq.write_table(captions, places.manifests / "plan.parquet")
    assert Findings.read(places.manifests, SPLITS).unphrased == []


def test_reasons_and_labels_are_named_up_to_a_number() -> None:
    rows = [refused(str(n), "x.wav", f"reason {'abcdefghijklmnopqrstuvw'[n]}") for n in range(23)]
    lines = format_refusals(count_refusals(rows))
    assert len(lines) == 21
    assert lines[-1] == "and 3 for other reasons"
    names = [f"label {n:02d}" for n in range(12)]
    rows = [clip for name in names for clip in clips(name, train=1)] + clips("dog", train=1, test=1)
    (found,) = Coverage.of(rows, set()).lacking
    assert found == Lacking("test", names, 13)
    assert found.line.endswith("label 09 and 2 more (12 of 13 labels)")


@cases(
    ("reasons", "told"),
    [
        (
            [
                *["is sampled at 192,000 Hz; clips.max_rate is 96,000 Hz"] * 3,
                "is sampled at 3,000 Hz; clips.min_rate is 4,000 Hz",
                "is sampled at 1,000 Hz; clips.min_rate is 4,000 Hz",
            ],
            [
                "3 quarantined: is sampled at 192,000 Hz",
                "`clips.max_rate: 192000` keeps them",
                "2 quarantined: is sampled at 3,000 Hz",
                "`clips.min_rate: 1000` keeps them",
            ],
        ),
        (
            [ENDS_EARLY, "is truncated or damaged: its header promises 2.00 s, but 1.00 s can be"],
            [f"1 quarantined: {ENDS_EARLY}", "1 quarantined: is truncated or damaged: its header"],
        ),
        (
            ["is the same sound as a.wav", "is the same sound as my dog.wav"],
            ["2 quarantined: is the same sound as a.wav"],
        ),
    ],
)
def test_each_cause_has_its_line_and_its_remedy(reasons: list[str], told: list[str]) -> None:
    rows = [refused(str(n), "x.wav", reason) for n, reason in enumerate(reasons)]
    lines = format_refusals(count_refusals(rows))
    assert len(lines) == sum("quarantined" in part for part in told)
    assert all(part in "\n".join(lines) for part in told)


def clips(label: str, **splits: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"{label}-{split}-{n}",
            "split": split,
            "labels": [label],
            "recording": f"{label}{n // 2}",
        }
        for split, count in splits.items()
        for n in range(count)
    ]


def test_the_rarest_come_first_with_clips_and_recordings() -> None:
    rows = [
        *clips("dog", train=4, test=4),
        *clips("hound", train=9),
        *clips("cat", train=3, test=1),
    ]
    told = Coverage.of(rows, set()).to_json()
    assert list(told["rarest"]) == ["hound", "cat", "dog"]
    assert told["rarest"]["hound"] == {
        "test clips": 0,
        "test recordings": 0,
        "train clips": 9,
        "train recordings": 5,
    }
    assert told["more"] == 0
    many = [clip for n in range(12) for clip in clips(f"label {n}", train=1)]
    assert Coverage.of(many, set()).to_json()["more"] == 2


def test_clips_outside_of_all_splits_count_for_nothing() -> None:
    rows = [*clips("dog", train=1), *clips("owl", **{"": 3})]
    assert Coverage.of(rows, set()).to_json()["rarest"].keys() == {"dog"}


# With the setting set that is named, what was told is gone.

RATE = 16_000
TWO = {"dog": [1.0] * 4, "rain": [1.0] * 4}
THREE = TWO | {"siren": [1.0] * 4}
EXACT = {"audio": {"sample_rate": RATE, "length": "exact 1 s"}}
Library = Mapping[str, Sequence[float]]


def write_library(root: Path, library: Library, gain: float = 1.0, rate: int = RATE) -> None:
    """Tones of these lengths, a folder a label; `gain` is of the last label."""
    rng = np.random.default_rng(0)
    for number, (label, lengths) in enumerate(library.items()):
        (root / label).mkdir(parents=True)
        loud = gain if number == len(library) - 1 else 1.0
        for take, seconds in enumerate(lengths):
            time = np.arange(round(seconds * rate)) / rate
            tone = 0.3 * np.sin(2 * np.pi * (200 * (number + 1) + 7 * take) * time)
            noisy = loud * (tone + 0.02 * rng.standard_normal(len(time)))
            soundfile.write(root / label / f"{take}.wav", noisy, rate)


def try_plan(values: dict[str, Any], out: Path) -> list[str]:
    """What is told of clips and groups, or why no plan can be made and what would help."""
    spec = Spec.model_validate(values)
    try:
        library, places, _ = plan_library(spec, out, 0, UNOBSERVED)
    except SegueError as error:
        return [f"{error.message}: {error.fix}"]
    found = Findings.read(places.manifests, spec.splits, library.quarantine, spec.seed)
    return [*found.reasons, *found.notes]


def apply_remedies(values: dict[str, Any], told: str) -> dict[str, Any]:
    """The values with the settings that are told between backticks, up to the first "; or"."""
    changed: dict[str, Any] = yaml.safe_load(yaml.safe_dump(values))
    (recipe,) = changed["recipe"]
    for path, value in re.findall(r"`([a-z_.]+): (.*?)`", told.partition("; or ")[0]):
        *parents, key = path.split(".")
        inner = changed
        for parent in parents or (["recipe", recipe] if key == "crossfade_s" else ()):
            inner = inner.setdefault(parent, {})
        inner[key] = yaml.safe_load(value)
    assert changed != values, told
    return changed


@cases(("library", "recipe", "more", "cause"), read_data("findings/remedies.yaml"))
def test_the_setting_that_is_named_works(
    library: Library,
    recipe: dict[str, Any],
    more: dict[str, Any],
    cause: str,
    tmp_path: Path,
) -> None:
    write_library(tmp_path / "sounds", library, more.pop("gain", 1.0))
    values = {
        "corpus": "told",
        "source": {"folder": {"root": str(tmp_path / "sounds")}},
        "recipe": recipe,
        "audio": {"sample_rate": RATE},
        **more,
    }
    (told,) = (line for line in try_plan(values, tmp_path / "a") if cause in line)
    assert "seed" not in told
    after = try_plan(apply_remedies(values, told), tmp_path / "b")
    assert [line for line in after if cause in line or "none of" in line] == []


@cases(("library", "recipe", "splits", "told"), read_data("findings/causes.yaml"))
def test_where_no_setting_helps_the_cause_is_told(
    library: Library,
    recipe: dict[str, Any],
    splits: dict[str, float] | None,
    told: str,
    tmp_path: Path,
) -> None:
    write_library(tmp_path / "sounds", library)
    values = {
        "corpus": "told",
        "source": {"folder": {"root": str(tmp_path / "sounds")}},
        "recipe": recipe,
        "audio": {"sample_rate": RATE},
        "splits": splits or {"train": 1.0},
    }
    lines = try_plan(values, tmp_path)
    assert any(told in line for line in lines), lines
    assert not any("seed" in line for line in lines)


@cases(
    ("own", "asked", "told"),
    [
        ("12", {"train": ["1", "2"], "test": ["9"]}, "no clip is in test (['9']); the source's ow"),
        (
            ("trian", "test"),
            {"train": ["train"], "test": ["test"]},
            "call split 'trian' of the lib",
        ),
    ],
)
def test_a_split_that_has_no_clip_is_the_cause(
    own: Sequence[str], asked: dict[str, list[str]], told: str, tmp_path: Path
) -> None:
    write_library(tmp_path / "sounds", THREE)
    rows = [f"{label}/{take}.wav,{label},{own[take % 2]}" for label in THREE for take in range(4)]
    (tmp_path / "sounds" / "dog" / "9.wav").touch()
    rows = ["path,label,split", *rows, f"dog/9.wav,dog,{own[0]}"]
    (tmp_path / "sounds" / "index.csv").write_text("\n".join(rows))
    values = {
        "corpus": "told",
        "source": {"folder": {"root": str(tmp_path / "sounds")}},
        "recipe": {"triplets": {"max_event_s": 1.0}},
        "audio": {"sample_rate": RATE},
        "splits": asked,
    }
    (line,) = try_plan(values, tmp_path)
    assert told in line
    assert "empty file" not in line


@cases(("reasons", "stage", "remedy"), read_data("findings/reasons.yaml"))
def test_remedies_of_other_reasons(reasons: Sequence[str], stage: str, remedy: str) -> None:
    assert find_remedy([{"reason": reason, "stage": stage} for reason in reasons]) == remedy


def test_a_remedy_says_of_how_many_labels_it_keeps_clips() -> None:
    reason = "has a label that names no short event"
    rows = [{"reason": reason, "labels": [label]} for label in ("dog", "owl", "hen", "fox")]
    assert "fox" not in find_remedy(rows)
    assert "keeps those of these 3 labels, if each" in find_remedy(rows)


@cases("given", [{"train": 0.9, "test": 0.1}, {"train": 0.9, "val": 0.05, "test": 0.05}])
def test_shares_that_are_found_deal_more_labels_to_the_splits(given: dict[str, float]) -> None:
    recordings = {label: [f"{label}/{take}" for take in range(6)] for label in "abcd"}

    def count(shares: Mapping[str, float], seed: int) -> int:
        find = split_finder(split_rules(shares), seed)
        return len(
            {(label, find({"recording": n})) for label in recordings for n in recordings[label]}
        )

    better = [seed for seed in range(12) if find_shares(recordings, given, seed)]
    assert len(better) > 6
    for seed in range(12):
        found = find_shares(recordings, given, seed)
        assert found is None or sum(found.values()) == pytest.approx(1)
        assert count(found or given, seed) >= count(given, seed) + (found is not None)
        if found is None:
            assert count(given, seed) == len(recordings) * len(given)
