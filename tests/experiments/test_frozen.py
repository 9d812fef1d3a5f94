"""`segue bench run`: scores both ways and backwards, on one page, and only once."""

from __future__ import annotations

import json
import re
import shutil
from copy import deepcopy
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from experiments.frozen.results import Result, Score, compare_page, read_results
from experiments.frozen.score import BACKWARDS, SCORES
from pipelines.frozen.description import Backwards, locate_corpus, read_records
from pipelines.frozen.digests import digest_corpus
from pipelines.frozen.make import list_queries
from synth.base.errors import CorpusError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from tests.kit.builds import segue_here
from tests.kit.tables import read_data
from train.bench.opening import RandomModel
from train.data.split import SplitData


def run(sets: Path, out: Path, *models: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    ended = segue_here("bench", "run", *models, "--sets", sets, "--out", out, *more, "--json")
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def naive_blocks(rows: list[dict[str, Any]]) -> list[tuple[int, int, str, str]]:
    """Every pair of samples of a group, and every pair of captions dealt to both."""
    found = set()
    for one, other in permutations(range(len(rows)), 2):
        if one > other or rows[one]["group"] != rows[other]["group"]:
            continue
        for mine in rows[one]["negatives"]:
            for theirs in rows[other]["negatives"]:
                true = [
                    caption["against"] or rows[at]["caption"]
                    for at, caption in ((one, mine), (other, theirs))
                ]
                crossed = [theirs["text"], mine["text"]] == true
                if crossed and mine["kind"] == theirs["kind"] == "reorder":
                    found.add((one, other, *true))
    return sorted(found)


def backwards(sound: np.ndarray) -> np.ndarray:
    """The sound turned round, with the silence before and after it in its place."""
    times = [number for number, value in enumerate(sound) if value]
    first, last = times[0], times[-1]
    return np.concatenate([sound[:first], sound[first : last + 1][::-1], sound[last + 1 :]])


def test_scores_are_those_of_loops_over_dot_products(sets: Path, tmp_path: Path) -> None:
    (result,) = run(sets, tmp_path, "random")["results"]
    corpus = Corpus.open(sets / "data_manifests" / "small-v1-foley")
    rows = corpus.samples("test").to_pylist()
    model = RandomModel()

    def similarity(row: dict[str, Any], text: str, turned: bool) -> float:
        pcm = corpus.stored_pcm("test", row["shard"], row["offset"], row["size"])
        sound = pcm.astype(np.float32) / np.float32(32768)
        sound = backwards(sound) if turned else sound
        return float(unit(model.audio([sound])[0]) @ unit(model.texts([text])[0]))

    blocks = naive_blocks(rows)
    assert len(blocks) == 6, "each ordered pair of the three classes"
    for name, turned in (("", False), ("backwards_", True)):
        text, audio, group = 0, 0, 0
        for one, other, first, second in blocks:
            a, b = rows[one], rows[other]
            hits = [
                similarity(a, first, turned) > similarity(a, second, turned),
                similarity(b, second, turned) > similarity(b, first, turned),
                similarity(a, first, turned) > similarity(b, first, turned),
                similarity(b, second, turned) > similarity(a, second, turned),
            ]
            text, audio, group = text + sum(hits[:2]), audio + sum(hits[2:]), group + all(hits)
        for score, points, of in (("text", text, 12), ("audio", audio, 12), ("group", group, 6)):
            assert result["scores"][name + score]["value"] == pytest.approx(points / of)
            assert result["scores"][name + score]["n"] == of


def test_models_are_compared_on_one_page_and_scored_once(sets: Path, tmp_path: Path) -> None:
    first = run(sets, tmp_path, "random")
    (path,) = (tmp_path / "scores").glob("*.json")
    told = json.loads(path.read_text())
    told["scores"]["text"]["value"] = 0.25  # would be set right if it were scored again
    path.write_text(json.dumps(told))
    faulty = deepcopy(told)
    faulty["scores"]["audio"]["low"] = 7
    for fault in ({**told, "scores": {}}, faulty):
        path.write_text(json.dumps(fault))
        with pytest.raises(CorpusError, match=f"{path.name}: has no scores of"):
            read_results(tmp_path)
    path.write_text(json.dumps(told))
    both = run(sets, tmp_path, "random", "bag-of-words:random")
    assert {each["model"] for each in both["results"]} == {"random", "bag-of-words:random"}
    values = {each["model"]: each["scores"]["text"]["value"] for each in both["results"]}
    assert values["random"] == 0.25 != first["results"][0]["scores"]["text"]["value"]

    page = Path(both["page"]).read_text(encoding="utf-8")
    assert "bag-of-words:random" in page
    assert "Which of two sounds comes first?" in page
    assert "No digest of this set over foley is published" in page
    assert not re.search(r'(src|href)="(?!#)', page), "the page stands alone"
    plain = segue_here("bench", "run", "random", "--sets", sets, "--out", tmp_path)
    assert "unpublished" in plain.stdout
    assert "…" not in plain.stdout
    assert any(line.split() == ["small-v1-foley"] for line in plain.stdout.splitlines())


def test_models_together_score_as_each_alone(sets: Path, tmp_path: Path) -> None:
    models = ("random", "bag-of-words:random")
    alone = [run(sets, tmp_path / each[0], each)["results"][0] for each in models]
    together = run(sets, tmp_path / "both", *models)["results"]
    assert sorted(alone, key=str) == sorted(together, key=str)


def test_sounds_are_decoded_once_for_all_models(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    pcm = SplitData.pcm
    monkeypatch.setattr(SplitData, "pcm", lambda self, row: decoded.append(1) or pcm(self, row))
    run(sets, tmp_path / "one", "random")
    alone = len(decoded)
    run(sets, tmp_path / "both", "random", "bag-of-words:random")
    assert 0 < len(decoded) - alone == alone


def test_a_page_shows_models_that_are_not_scored_on_every_set(sets: Path, tmp_path: Path) -> None:
    found = run(sets, tmp_path, "random", "bag-of-words:random")["results"]
    one, other = (
        Result.model_validate({k: v for k, v in each.items() if k != "control"}) for each in found
    )
    elsewhere = other.set.model_copy(update={"corpus": "other-v1-foley"})
    html = compare_page([one, other.model_copy(update={"set": elsewhere})]).html
    assert html.count('<td class="number">-</td>') == 2 * len(SCORES)


def test_the_overview_has_a_row_a_model_and_marks_the_best(sets: Path, tmp_path: Path) -> None:
    (found,) = run(sets, tmp_path, "random")["results"]
    random = Result.model_validate({k: v for k, v in found.items() if k != "control"})
    text = random.scores["text"]
    better = text.model_copy(update={"value": 0.9, "low": 0.8, "high": 1.0})
    models = [
        random.model_copy(
            update={
                "model": f"m{k}",
                "scores": random.scores | ({"text": better} if k == 3 else {}),
            }
        )
        for k in range(40)
    ]
    html = compare_page(models).html
    overview = html[html.index('id="overview-text"') : html.index('id="overview-audio"')]
    (head, *rows) = re.findall(r"<tr[^>]*>(.*?)</tr>", overview)
    assert head.count("<th") == 2
    assert len(rows) == len(models)
    assert [k for k, row in enumerate(rows) if "best" in row] == [3]


def test_a_set_that_was_changed_is_refused(sets: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(sets, tmp_path / "changed")
    (record,) = (changed / "sets").glob("*.json")
    record.write_text(record.read_text().replace(read_records(sets)[0].digest, "0" * 64))
    assert "was changed since small-v1 was built" in run(changed, tmp_path, "random")["error"]
    assert "no test set is built here" in run(tmp_path, tmp_path, "random")["error"]
    refused = run(sets, tmp_path, "random", more=("--only", "order-v3"))
    assert "--only order-v3: not built here" in refused["error"]
    assert "no such run" in run(sets, tmp_path, str(tmp_path / "none"))["error"]


@pytest.mark.parametrize(
    ("backwards_is", "text", "turned", "control"),
    [
        ("flips", 0.5, 0.5, ""),
        ("flips", 0.9, 0.1, "as it should be"),
        ("flips", 0.9, 0.5, "as it should be"),
        ("flips", 0.9, 0.9, "does not flip"),
        ("keeps", 0.9, 0.9, "as it should be"),
        ("keeps", 0.9, 0.5, "is lost"),
    ],
)
def test_the_control_says_whether_playing_backwards_does_what_it_must(
    sets: Path, backwards_is: str, text: float, turned: float, control: str
) -> None:
    (built,) = read_records(sets)
    scores = {
        way + name: Score(value=value, low=value - 0.02, high=value + 0.02, chance=0.5, n=600)
        for way, value in (("", text), (BACKWARDS, turned))
        for name in SCORES
    }
    told = built.model_copy(update={"backwards": Backwards(backwards_is)})
    result = Result(model="m", weights="", pad="pad", heard="", set=told, scores=scores)
    assert result.control == control


def test_a_set_that_is_answered_with_windows_is_scored_by_predictions(tmp_path: Path) -> None:
    path = tmp_path / "when-v1.yaml"
    path.write_text(yaml.safe_dump(read_data("sets/moments.yaml")), encoding="utf-8")
    built = segue_here("bench", "build", path, "--out", tmp_path, "--workers", "0")
    assert "--to moments" in built.stdout
    (record,) = read_records(tmp_path)
    corpus = Corpus.open(locate_corpus(record, tmp_path))
    assert digest_corpus(corpus, UNOBSERVED, list_queries(corpus)) == record.digest
    assert digest_corpus(corpus, UNOBSERVED) != record.digest, "when sounds are heard counts"

    assert "answered with windows" in str(run(tmp_path, tmp_path / "out", "random"))
    segue_here("export", corpus.folder, "--to", "moments", "--out", tmp_path / "when")
    ended = segue_here("eval", "prior", tmp_path / "when" / "test.jsonl", "--json")
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["moments_map"]["n"] == 40
    assert found["moments_presence"] | {"n": 80, "value": 0.5} == found["moments_presence"]
