"""Commands that are killed between their writes, and what is given afterwards."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import soundfile

import pipelines.ingest.ingest
import pipelines.ingest.parts
from pipelines.builder.build import build
from pipelines.builder.finalise import RECORD_FILE
from pipelines.config.spec import Intake, Spec
from pipelines.engines.engine import engine
from pipelines.ingest.decoding import DecodingTask, Outcome
from pipelines.ingest.ingest import ingest
from pipelines.store.places import Places
from pipelines.store.stage import choose_stage, open_store
from pipelines.store.store import BANKS, MANIFESTS, SHARDS
from pipelines.versions.gc import collect_garbage
from pipelines.versions.history import promote_version
from pipelines.versions.rebuild import rebuild
from synth.base.hashing import file_sha256
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import CORPUS_FILE, LATEST_FILE, REMOVED_FILE
from synth.sources import ClipRef
from synth.sources.catalogue import Acceptance
from synth.sources.own.folder import FolderSource
from tests.kit.builds import TINY, merged

CORPUS: Final = "tiny"
SMALL: Final = merged(
    TINY,
    {
        "source": {"foley": {"classes": ["dog", "rain"], "takes": 3}},
        "recipe": {"triplets": {"repeats": 1, "max_event_s": 0.5}},
        "audio": {"format": "wav", "sample_rate": 8000, "length": "exact 1.5 s"},
        "splits": {"train": [1, 2], "test": [3]},
        "shards": {"samples": 6},
    },
)
PART_CLIPS: Final = 2
LIBRARY: Final = "SEGUE_SOAK_LIBRARY"
BEGUN: Final = (
    *("claim.json", "clips.parquet", "quarantine.parquet", "plan.parquet", "shards.parquet"),
    "receipt.json",
    *(".tar", ".tar.parquet", ".tar.json", "samples.parquet", "corpus.json"),
)
"""What the first of two specs is killed before it renames."""

FOLDER, STORE, ELSEWHERE = "folder", "store", "elsewhere"
WAYS: Final = (FOLDER, STORE, ELSEWHERE)
"""To a folder; to a store; to a store, where another machine goes on."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a command writes: a folder of its own, and one of `WAYS`."""

    root: Path
    way: str

    @property
    def out(self) -> Path:
        """What a command is given."""
        return self.files if self.way == FOLDER else Path(f"file://{self.files}")

    @property
    def files(self) -> Path:
        """Where what it writes is in the end."""
        return self.root / "out"

    @property
    def cache(self) -> Path:
        """Copies and stages of this machine."""
        return self.root / "cache"

    @property
    def versions(self) -> Path:
        """The corpus, as a command is given it."""
        return self.out / MANIFESTS / CORPUS

    def bury(self) -> None:
        """Let what was killed be long dead where nobody can know it by itself."""
        if self.way == ELSEWHERE:
            shutil.rmtree(self.cache, ignore_errors=True)
            for lease in self.files.rglob(".lease*/*"):
                os.utime(lease, (time.time() - 3600,) * 2)

    def contents(self) -> dict[str, str]:
        """SHA-256 of every file, but for what tells of runs."""
        return {
            str(path.relative_to(self.files)): file_sha256(path)
            for path in sorted(self.files.rglob("*"))
            if path.is_file() and path.name not in ("journal.jsonl", ".lock")
            if not path.parent.name.startswith(".lease")
        }

    def find_lies(self) -> Iterator[str]:
        """What a certificate says and is not so."""
        for folder in sorted((self.files / MANIFESTS).glob("*/*/")):
            yield from self._find_version_lies(folder)
        for latest in (self.files / MANIFESTS).glob(f"*/{LATEST_FILE}"):
            folder = latest.parent / latest.read_text(encoding="utf-8").strip()
            if not (folder / CORPUS_FILE).is_file():
                yield f"latest names {folder.name}, which is not finished"
            record = _read(folder / RECORD_FILE)
            if not record.get("passed", True) and not record.get("overridden"):
                yield f"latest names {folder.name}, which failed a gate"

    def _find_version_lies(self, folder: Path) -> Iterator[str]:
        removed = (folder / REMOVED_FILE).is_file()
        receipts = [_read(path) for path in sorted(folder.glob("receipts/*.json"))]
        receipts = [receipt for receipt in receipts if "sha256" in receipt]
        for receipt in receipts:
            name = receipt["shard"]
            tar = self.files / SHARDS / folder.parent.name / folder.name / receipt["split"] / name
            if not tar.is_file():
                if not removed:
                    yield f"{folder.name}: {name} has a receipt, and is not there"
            elif file_sha256(tar) != receipt["sha256"]:
                yield f"{folder.name}: {name} differs from its receipt"
            if not (folder / "receipts" / f"{name}.parquet").is_file():
                yield f"{folder.name}: {name} has a receipt, and no measurements"
        facts = _read(folder / CORPUS_FILE)
        if facts:
            if sum(split["shards"] for split in facts["splits"].values()) != len(receipts):
                yield f"{folder.name}: finished with {len(receipts)} receipts"
            if not removed and not (folder / facts["bank"]).is_file():
                yield f"{folder.name}: finished without its bank"


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values


Action: TypeAlias = Callable[[Site], object]


@dataclass(frozen=True, slots=True)
class SoakStep:
    """A command that is given before; `killed_before` is as in `WriteWatch`."""

    action: Action
    killed_before: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A command that is killed, and the one that is given then.

    Args:
        way: One of `WAYS`.
        before: Commands that make the state it begins in.
        after: The command that must end as if nothing else had been given.
        refusal: Words with which that one may refuse instead; "" where it may not.
        otherwise: The command that must then end as it does in an empty folder.
    """

    name: str
    way: str
    before: Sequence[SoakStep]
    killed: Action
    after: Action
    refusal: str = ""
    otherwise: Action | None = None


def parse_spec(**changes: Any) -> Spec:
    """The spec of the small corpus, with changes."""
    return Spec.model_validate(merged(SMALL, {"version": "v1"} | changes))


def make_seed(seed: int, site: Site, **changes: Any) -> None:
    """Build version v1 of a seed."""
    build(parse_spec(seed=seed, **changes), site.out, 0)


def _fail_gate(site: Site) -> None:
    record = {"passed": False, "gates": [{"name": "samples", "passed": False}], "metrics": {}}
    path = site.files / MANIFESTS / CORPUS / "v2" / RECORD_FILE
    path.write_text(json.dumps(record), encoding="utf-8")
    (site.files / MANIFESTS / CORPUS / LATEST_FILE).write_text("v1\n", encoding="utf-8")


def _promote(site: Site, name: str, override: bool) -> None:
    promote_version(site.versions, name, override)


def _collect(site: Site, banks: bool) -> None:
    collect_garbage(site.versions, 1, banks)


def _rebuild(site: Site) -> None:
    result = rebuild(Places(open_store(site.out), CORPUS, "v1"), None, 0)
    assert not result.differences, result.differences


def _ingest(site: Site) -> None:
    source = FolderSource(root=Path(os.environ[LIBRARY]))
    with engine(0) as where:
        banks = choose_stage(site.out) / BANKS
        ingest(Intake(source, 8000, Acceptance()), banks, where, UNOBSERVED)


def write_library(folder: Path) -> None:
    """Seven sounds, and a file that is none."""
    (folder / "noise").mkdir(parents=True)
    for number in range(7):
        noise = np.random.default_rng(number).uniform(-0.5, 0.5, 1600)
        soundfile.write(folder / "noise" / f"{number}.wav", noise, 8000)
    (folder / "noise" / "none.wav").write_bytes(b"no sound")


class _Decoder:
    """Opens clips in this process: what a decoder's own process does is no writing."""

    def __init__(self, task: DecodingTask) -> None:
        self._task = task

    def decode_all(self, refs: Iterable[ClipRef]) -> Iterator[Outcome]:
        return map(self._task.decode, refs)

    def close(self) -> None:
        pass


def simplify() -> None:
    """Let libraries of this process be read by itself, in small parts; a kill loses no page."""
    os.fsync = lambda _: None  # type: ignore[assignment]
    pipelines.ingest.parts.PART_CLIPS = PART_CLIPS  # type: ignore[misc]
    vars(pipelines.ingest.ingest)["Decoder"] = _Decoder


REHEARSAL: Final[Sequence[Action]] = (
    partial(make_seed, 7),
    partial(_promote, name="v1", override=False),
    partial(_collect, banks=True),
    _rebuild,
    _ingest,
)
"""Commands that import whatever any of the scenarios does."""


def list_scenarios() -> Iterator[Scenario]:
    """All of them."""
    seven, eight = partial(make_seed, 7), partial(make_seed, 8)
    second = partial(make_seed, 8, version="v2")
    fewer = partial(
        make_seed, 8, version="v2", source={"foley": {"takes": 2}}, splits={"train": [1, 2]}
    )
    for way in WAYS:
        yield Scenario("build", way, (), seven, seven)
        for name in BEGUN if way == FOLDER else ("plan.parquet", ".tar.json"):
            yield Scenario(
                f"replan {name}",
                way,
                (SoakStep(seven, name),),
                eight,
                seven,
                "another spec or other clips",
                eight,
            )
        two = (SoakStep(seven), SoakStep(second))
        back = partial(_promote, name="v1", override=False)
        yield Scenario("promote", way, two, back, back)
        override = partial(_promote, name="v2", override=True)
        yield Scenario("promote override", way, (*two, SoakStep(_fail_gate)), override, override)
        collect = partial(_collect, banks=False)
        begun = (SoakStep(partial(make_seed, 9, version="v0"), "samples.parquet"), *two)
        yield Scenario("gc", way, begun, collect, collect)
        yield Scenario("gc then build", way, two, collect, _rebuild)
        banks = partial(_collect, banks=True)
        others = (SoakStep(seven), SoakStep(fewer))
        yield Scenario("gc banks", way, others, banks, banks)
        yield Scenario("gc banks then build", way, others, banks, _rebuild)
        yield Scenario("ingest", way, (), _ingest, _ingest)
