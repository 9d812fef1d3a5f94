"""`rewrite`: what a second request does not read back is not taken, and nothing is paid twice."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.builder.build import build, plan_library
from pipelines.checks.audit import audit
from pipelines.cli.texts import llm
from pipelines.config.spec import Spec
from pipelines.llm.money.prices import NANOS
from pipelines.llm.run import estimate, generate
from pipelines.llm.runner import StopKind
from pipelines.llm.settings import GenerateSettings
from synth.base.errors import PlanError, SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.llm.prompt import Prompt, load_prompt
from synth.llm.reply import PromptItem
from synth.scene.claim import Statement, claim_from_json, complete, state
from tests.kit.builds import TINY, invoke, merged
from tests.kit.llm_commands import start
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY, KEY_VARIABLE, PRICES, items_in, items_of, write_rows
from tests.kit.llm_tasks import settings as task_settings
from tests.kit.rewriter import Rates, Rewriter, frame

SCENES = {"scenes": {"scenes": 16, "max_event_s": 1.0}}
RECIPES = (SCENES, {"counts": {"repeats": 1}}, {"attributes": {"pairs": 16}})
WRITE = dict.fromkeys(
    ("order", "relation", "renamed", "added", "lost", "negation", "count", "measure"), 0.1
)
RATES = Rates(WRITE, 0.3)


def spec(recipe: dict[str, Any], **changes: Any) -> Spec:
    given = {
        "source": {"foley": {"classes": ["dog", "rain", "siren", "wind", "cat"], "takes": 5}},
        "audio": {"sample_rate": 16000, "length": "natural"},
        "splits": {"train": 1.0},
    }
    return Spec.model_validate(merged(TINY, given | {"recipe": recipe} | changes))


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Manifest folders of small corpora: scenes, counts, attributes."""
    out = tmp_path_factory.mktemp("plans")
    return [plan_library(spec(each), out, 0, UNOBSERVED)[1].manifests for each in RECIPES]


@pytest.fixture(scope="module")
def rows(plans: list[Path]) -> list[dict[str, Any]]:
    return [row for each in plans for row in pq.read_table(each / "plan.parquet").to_pylist()]


def captions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every true caption once."""
    found = {}
    for row in rows:
        for each in ({"text": row["caption"], "claim": row["claim"]}, *row["positives"]):
            told = {"caption": each["text"], "claim": each["claim"]}
            found[each["text"]] = told | {"sample_rate": row["sample_rate"]}
    return [{"id": f"c{at}", **each} for at, each in enumerate(found.values())]


def settings(folder: Path, server: LlmServer, source: Path, **changes: Any) -> GenerateSettings:
    given = {"task": "rewrite", "source": source} | changes
    return task_settings(folder, server.base_url, [], **given)


def asked(server: LlmServer) -> Counter[tuple[str, ...]]:
    """How often each item of either request was asked, for the first time and again."""
    names = ("text", "caption", "style", "language", "refused")
    return Counter(
        tuple(item.get(name, "") for name in names)
        for body in server.bodies
        for item in items_of(body)
    )


def expected(model: Rewriter, prompt: Prompt, row: dict[str, Any]) -> tuple[str, str]:
    """The text and the verdict of an item, one step after the other."""
    for again in (False, True):
        told = model.write(row, again)
        text = frame(row, told)
        if not prompt.faults(PromptItem("", row), {"text": text}):
            break
    else:
        return "", "refused_by_checks"
    read = model.read({"text": text, "sounds": model.sounds[text]})
    if any(len(set(each["sounds"])) < len(each["sounds"]) for each in read):
        return text, "failed"  # two sounds that the second model does not know are one to it
    got = complete(Statement(each["says"], tuple(each["sounds"]), each["value"]) for each in read)
    same = got == state(claim_from_json(json.loads(row["claim"])), 16_000)
    return text, "accepted" if same else "refused_by_second"


@pytest.mark.parametrize("batch", [False, True])
def test_verdicts_are_those_that_the_model_draws(
    tmp_path: Path, rows: list[dict[str, Any]], batch: bool
) -> None:
    model = Rewriter(rows, RATES)
    source = write_rows(tmp_path / "captions.jsonl", captions(rows))
    with LlmServer(model, key=KEY) as server:
        run = settings(tmp_path, server, source, variants=2, limit=100, batch=batch)
        guess = estimate(run)
        done = generate(run, UNOBSERVED)
        counts = asked(server)
        again = generate(run, UNOBSERVED)
    assert (guess.items, guess.requests, guess.second_requests) == (200, 40, 20)
    found = pq.read_table(run.out).to_pylist()
    prompt = load_prompt("rewrite")
    texts = Counter(row["text"] for row in found)
    alone = [row for row in found if texts[row["text"]] == 1 or not row["text"]]
    assert len(alone) >= 195  # one mistake may make another caption; the model reads both alike
    wanted = [expected(model, prompt, row) for row in alone]
    assert [(row["text"], row["verdict"]) for row in alone] == wanted
    verdicts = Counter(row["verdict"] for row in found)
    assert min(verdicts["accepted"], verdicts["refused_by_second"]) > 50
    false = [r for r in found if model.means.get(r["text"]) != model.said[r["caption"]][0].means]
    assert len(false) > 40
    assert sum(row["verdict"] == "accepted" for row in false) <= 3
    assert (done.answered, done.left) == (verdicts["accepted"], 0)
    assert sum(done.failed.values()) == 200 - done.answered
    assert len(done.verdicts) >= 6
    for kind, told in done.verdicts.items():
        mine = Counter(row["verdict"] for row in found if row["kind"] == kind)
        assert told == {"asked": mine.total(), **{name: mine[name] for name in list(told)[1:]}}
    assert all(times == (texts[text] or 1) for (text, *_), times in counts.items())
    assert (again.account.requests, again.from_store) == (0, 200)
    for row in found:
        kept = [row["text"]] if row["verdict"] == "accepted" else []
        assert (row["texts"], row["status"]) == (kept, "answered" if kept else "failed")
    assert len({row["style"] for row in found}) == 7
    assert len({row["language"] for row in found}) == 5


@pytest.mark.slow
def test_the_budget_pays_for_both_requests(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    model = Rewriter(rows, Rates({}, 0.0))
    source = write_rows(tmp_path / "captions.jsonl", captions(rows))
    for batch in (False, True):
        (folder := tmp_path / str(batch)).mkdir()
        with LlmServer(model, key=KEY) as server:
            limits = {"limit": 100, "budget": 0.2, "concurrency": 2}
            run = settings(folder, server, source, batch=batch, **limits)
            done = generate(run, UNOBSERVED)
            assert done.stopped.kind is StopKind.BUDGET
            assert 0 < done.answered < 100
            assert done.spent <= 0.2 * NANOS
            texts = [row["text"] for row in pq.read_table(run.out).to_pylist()]
            assert sum(map(bool, texts)) == done.answered  # Whatever was written was verified.
            rest = generate(run.model_copy(update={"budget": 20.0}), UNOBSERVED)
        assert (rest.answered, rest.left, rest.from_store) == (100, 0, done.answered)
        assert set(asked(server).values()) == {1}


@pytest.mark.slow
def test_a_death_while_verifying_is_free(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    source = write_rows(tmp_path / "captions.jsonl", captions(rows)[:40])
    with LlmServer(Rewriter(rows, Rates({}, 0.0)), key=KEY) as server:
        patch = "runner.judge_reply = dies(runner.judge_reply, 6)"  # Of these 2 are second ones.
        given = (tmp_path, server, "rewrite", source, "--concurrency", "1")
        assert start(*given, patch=patch).end()[0] == -signal.SIGKILL
        assert sum("sounds" in item for body in server.bodies for item in items_of(body)) == 30
        status, told, wrong = start(*given).end()
        counts = asked(server)
    assert status == 0, wrong
    done = json.loads(told.splitlines()[-1])
    assert (done["answered"], done["left"]) == (40, 0)
    assert set(counts.values()) == {1}


def test_another_model_may_verify(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    source = write_rows(tmp_path / "captions.jsonl", captions(rows)[:10])
    with LlmServer(Rewriter(rows, Rates({}, 0.0)), key=KEY) as server:
        run = settings(tmp_path, server, source, verify_model="reader")
        with pytest.raises(SpecError, match="the price of model 'reader' is unknown"):
            generate(run, UNOBSERVED)
        run.prices.write_text(PRICES + PRICES.replace("tiny", "reader"))  # type: ignore[union-attr]
        assert generate(run, UNOBSERVED).answered == 10
        models = {(b["model"], "sounds" in i) for b in server.bodies for i in items_of(b)}
        plain = run.model_copy(update={"task": "paraphrase"})
        with pytest.raises(SpecError, match="has no `verify`"):
            generate(plain, UNOBSERVED)
        with pytest.raises(SpecError, match="do not say which caption"):
            generate(plain.model_copy(update={"verify_model": "", "positives": True}), UNOBSERVED)
    assert models == {("tiny", False), ("reader", True)}


def test_what_was_refused_is_asked_again(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    model = Rewriter(rows, Rates({"added": 0.5}, 0.0))
    source = write_rows(tmp_path / "captions.jsonl", captions(rows))
    with LlmServer(model, key=KEY) as server:
        run = settings(tmp_path, server, source, limit=40)
        first = generate(run, UNOBSERVED)
        second = generate(run.model_copy(update={"retry_failed": True}), UNOBSERVED)
    assert first.failed == {"read otherwise": 40 - first.answered}
    assert first.answered < second.answered <= 40
    assert second.from_store == first.answered


@pytest.mark.slow
def test_a_corpus_takes_accepted_rewrites_as_true_captions(
    tmp_path: Path, rows: list[dict[str, Any]], plans: list[Path]
) -> None:
    model, out = Rewriter(rows, RATES), tmp_path / "out.parquet"
    paths = ("--out", out, "--store", tmp_path / "store.sqlite", "--local")
    with LlmServer(model, key=KEY) as server:
        where = ("--model", "tiny", "--base-url", server.base_url, "--key-variable", KEY_VARIABLE)
        given = ("rewrite", plans[0], *where, *paths, "--positives", "--variants", 2)
        guess = invoke(llm.llm_run_command, *given, "--dry-run", "--verify-model", "reader")
        requests = re.search(r"settled; (\d+) requests to tiny and (\d+) to reader", guess.output)
        assert requests[1] == requests[2]
        told = invoke(llm.llm_run_command, *given).output
    kinds = ("order and together", "all")
    assert all(part in told for part in ("kind", "asked", "refused by", *kinds))
    stats = invoke(llm.llm_stats_command, "--store", tmp_path / "store.sqlite").output
    assert all(f"llm:{name}@1/tiny" in stats for name in ("rewrite", "read-claim"))
    answers = pq.read_table(out).to_pylist()
    summary = build(spec(SCENES, enrich=[str(out)]), tmp_path / "built", 0)
    manifests = Path(summary.paths["manifests"])
    assert not audit(manifests).violations
    # The same command asks nothing about what was bought.
    prompt = load_prompt("rewrite")
    first, again = (
        items_in(each, prompt, positives=True, variants=2) for each in (plans[0], manifests)
    )
    assert again == first
    made = [
        (row["id"], each["text"], json.loads(each["claim"]))
        for row in Corpus.open(manifests).samples().to_pylist()
        for each in row["positives"]
        if each["generator"] == "llm:rewrite@1/tiny"
    ]
    bought = {
        (row["id"], row["text"]): json.loads(row["claim"])
        for row in answers
        if row["verdict"] == "accepted"
    }
    assert {(name, text): claim for name, text, claim in made} == bought
    assert len(made) == len(bought) > 30

    with pytest.raises(PlanError, match="the answer does not fit the sample: it has no true"):
        build(spec(SCENES, enrich=[str(out)], seed=8), tmp_path / "built", 0)
    table = pq.read_table(out)
    turned = json.dumps({"statements": [{"says": "heard", "sounds": ["dog"], "value": 0}]})
    read = [turned] * table.num_rows
    at = table.column_names.index("read")
    pq.write_table(table.set_column(at, table.schema.field(at), [read]), out)
    with pytest.raises(PlanError, match="does not fit the sample: read otherwise"):
        build(spec(SCENES, enrich=[str(out)]), tmp_path / "built", 0)
    pq.write_table(table.drop_columns(["read"]), out)
    with pytest.raises(SpecError, match="column 'read' is missing"):
        build(spec(SCENES, enrich=[str(out)]), tmp_path / "built", 0)
