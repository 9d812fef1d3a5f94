"""What plan and build tell of a library: why clips are out, and what splits and lexicon lack."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.builder.build import Summary
from pipelines.builder.coverage import Coverage, Lacking
from pipelines.builder.findings import Findings
from pipelines.cli.make.build import print_summary
from pipelines.cli.make.plan import describe_plan
from pipelines.config.spec import SplitName
from pipelines.ingest.parts import count_refusals, format_refusals
from pipelines.store.places import Places
from pipelines.store.store import Store
from synth.audio.decoding.streams import ENDS_EARLY
from synth.base.command import CommandResult
from synth.sources.procedural.foley.source import Foley
from tests.kit.cases import cases

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


def test_plan_and_build_say_the_same_to_people_and_programs(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_twenty_reasons_are_told_and_how_many_clips_have_others() -> None:
    rows = [refused(str(n), "x.wav", f"reason {'abcdefghijklmnopqrstuvw'[n]}") for n in range(23)]
    lines = format_refusals(count_refusals(rows))
    assert len(lines) == 21
    assert lines[-1] == "and 3 for other reasons"


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


def test_ten_labels_are_named_at_most() -> None:
    names = [f"label {n:02d}" for n in range(12)]
    rows = [clip for name in names for clip in clips(name, train=1)] + clips("dog", train=1, test=1)
    (found,) = Coverage.of(rows, set()).lacking
    assert found == Lacking("test", names, 13)
    assert found.line.endswith("label 09 and 2 more (12 of 13 labels)")


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
