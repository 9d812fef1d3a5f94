"""Labels by split: what a split lacks is named, and the rarest labels come first."""

from __future__ import annotations

from pipelines.builder.findings import Coverage, Lacking


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
