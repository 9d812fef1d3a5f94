"""A small task, a model that carries it out, and runs of it, for the tests of `pipelines.llm`."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.llm.files import read_rows
from pipelines.llm.money.store import TaskItem
from pipelines.llm.run import GenerateSummary, generate
from pipelines.llm.settings import GenerateSettings
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import Policy
from pipelines.llm.wire.request import Capabilities, Reply, Request
from synth.base.progress import UNOBSERVED
from synth.llm.prompt import Prompt
from tests.kit.llm_server import LlmServer
from tests.kit.tables import DATA

KEY = "sk-test-4f9c2a7be1d04c55"
KEY_VARIABLE = "SEGUE_TEST_KEY"
QUICK = Policy(attempts=8, base_s=0.02, cap_s=0.05)
PRICES = "tiny: {input: 1.0, cached: 0.5, output: 4.0}\n"


def write_prompt(folder: Path, batch: int = 8) -> Path:
    """The task's file."""
    path = folder / "say.yaml"
    text = (DATA / "llm" / "say.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("BATCH", str(batch)))
    return path


def captions(count: int) -> list[dict[str, str]]:
    """Captions, all different."""
    return [{"id": f"c{n}", "caption": f"Noise number {n} is heard"} for n in range(count)]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(
    folder: Path, server: LlmServer, rows: list[dict[str, Any]] | None = None, **changes: Any
) -> GenerateSummary:
    """A run over some rows, or over those that an earlier one left in the folder."""
    return generate(settings(folder, server.base_url, rows or [], **changes), UNOBSERVED)


def meeting(fault: str, attempts: int = 10**9) -> Callable[[dict[str, Any], int], str]:
    """A script by which the first attempts at each request about items meet a fault."""
    return lambda body, attempt: fault if items_of(body) and attempt < attempts else ""


def asked(server: LlmServer) -> Counter[str]:
    """How often each caption was asked for, over all requests."""
    return Counter(item["caption"] for body in server.bodies for item in items_of(body))


def items_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The items that a request asks about."""
    lines = body["messages"][-1]["content"].splitlines()
    return [json.loads(line) for line in lines if line.startswith('{"id"')]


def obliging(body: dict[str, Any]) -> str:
    """Answers every item, as its caption wants it.

    "hopeless" is always answered badly, "slow" well when it is told what was wrong, "shy" is left
    out, and "poison" spoils the whole reply.
    """
    answers = []
    for item in items_of(body):
        caption = item["caption"]
        if "poison" in caption:
            return '{"answers": [{"id"'
        bad = "hopeless" in caption or ("slow" in caption and "refused" not in item)
        if "shy" not in caption:
            answers.append({"id": item["id"], "texts": [caption if bad else f"Hark: {caption}"]})
    return json.dumps({"answers": answers})


def turn_round(body: dict[str, Any]) -> str:
    """Where a caption says "A before B", its negative is "B, then A"; else there is none."""
    answers = []
    for item in items_of(body):
        labels = item["labels"]
        first, word, second = item["caption"].partition(" before ")
        negatives = []
        if word and not item["caption"].startswith("Before"):
            text = f"{second[0].upper()}{second[1:]}, then {first[0].lower()}{first[1:]}"
            negatives = [{"caption": text, "notation": f"{labels[1]} + {labels[0]}"}]
        answers.append({"id": item["id"], "notation": " + ".join(labels), "negatives": negatives})
    return json.dumps({"answers": answers})


def ask_once(
    server: LlmServer,
    request: Request,
    able: Capabilities | None = None,
    key: str = "none",
    timeout_s: float = 60.0,
) -> Reply:
    """One request to an endpoint, through the real client."""

    async def ask() -> Reply:
        where = EndpointSettings(server.base_url, "tiny", key, timeout_s)
        async with Endpoint(where, able) as endpoint:
            return await endpoint.ask(request)

    return asyncio.run(ask())


def items_in(source: Path, prompt: Prompt, **changes: Any) -> list[TaskItem]:
    """The items that a run reads of a file or a corpus."""
    out = source.with_name("said.parquet")
    return read_rows(GenerateSettings(task="", source=source, out=out, model="", **changes), prompt)


def settings(
    folder: Path, base_url: str, rows: list[dict[str, Any]], **changes: Any
) -> GenerateSettings:
    """A run over some rows, with everything in one folder."""
    prices = folder / "prices.yaml"
    prices.write_text(PRICES)
    source = folder / "captions.jsonl"
    if not source.exists():
        write_rows(source, rows)
    given: dict[str, Any] = {
        "task": str(write_prompt(folder, changes.pop("items_a_request", 8))),
        "source": source,
        "out": folder / "out.parquet",
        "model": "tiny",
        "base_url": base_url,
        "key_variable": KEY_VARIABLE,
        "store": folder / "store.sqlite",
        "budget": 100.0,
        "prices": prices,
        "concurrency": 8,
        "policy": QUICK,
        "poll_s": 0.01,
    }
    return GenerateSettings(**(given | changes))
