"""What the tasks of one flow run share. It stays in the flow's process: Prefect is given paths."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pipelines.build.build import Prepared, locate_library, prepare_build, refuse_unheard
from pipelines.build.render import is_done, read_receipt
from pipelines.engines.engine import Engine, engine
from pipelines.engines.executor import watch_parent
from pipelines.flows.holder import sole_run
from pipelines.flows.nights.settings import NightlySettings, read_nightly
from pipelines.ingest.ingest import IngestedLibrary
from pipelines.spec.file import read_spec
from pipelines.spec.spec import Spec
from pipelines.store.places import Places
from pipelines.store.stage import choose_stage, hold_for_writing
from synth.base.errors import SpecError
from synth.base.progress import Observer

SERVED_BY: Final = "SEGUE_SERVED_BY"


class Work:
    """A corpus being built. No dataclass: Prefect would walk through it.

    Args:
        engine: Runs functions on workers.
    """

    def __init__(
        self,
        spec: Spec,
        out: Path,
        settings: NightlySettings,
        engine: Engine,
        observer: Observer,
    ) -> None:
        self.spec = spec
        self.out = out
        self.settings = settings
        self.engine = engine
        self.observer = observer
        self.started = time.monotonic()
        self._located: tuple[IngestedLibrary, Places] | None = None
        self._prepared: Prepared | None = None

    def __str__(self) -> str:
        """The corpus's name, which Prefect puts into the names of tasks."""
        return self.spec.corpus

    def locate(self) -> tuple[IngestedLibrary, Places]:
        """The ingested library, and where what is made of it lies."""
        if self._located is None:
            self._located = locate_library(self.spec, self.out, self.engine, self.observer)
        return self._located

    def prepare(self) -> Prepared:
        """The plan, and what is still to be rendered."""
        if self._prepared is None:
            self._prepared = prepare_build(self.spec, *self.locate(), self.engine, self.observer)
        return self._prepared

    def shard_rows(self) -> list[dict[str, Any]]:
        """The shards for people: what their receipts say."""
        prepared = self.prepare()
        fresh = {shard.shard for shard in prepared.pending}
        rows = []
        for shard in prepared.shards:
            receipt = read_receipt(prepared.places, shard.shard)
            certified = receipt is not None and is_done(prepared.places, shard)
            facts = asdict(receipt) if receipt is not None else {}
            rows.append(
                {
                    "shard": shard.shard,
                    "split": shard.split,
                    "samples": shard.samples,
                    "bytes": facts.get("bytes"),
                    "sha256": facts.get("sha256", "")[:12],
                    "state": ("rendered" if shard.shard in fresh else "already there")
                    if certified
                    else "missing",
                }
            )
        return rows


@contextmanager
def open_work(
    spec: str | dict[str, Any] | Spec,
    out: str,
    workers: str | int,
    nightly: str | dict[str, Any] | NightlySettings | None,
    observer: Observer,
) -> Iterator[Work]:
    """Hold a corpus for one flow run, with workers; runs that died over it are marked Crashed."""
    _end_with_server()
    parsed = spec if isinstance(spec, Spec) else _read(spec)
    settings = (
        read_nightly(Path(nightly) if nightly else None)
        if isinstance(nightly, str | None)
        else NightlySettings.model_validate(nightly)
    )
    refuse_unheard(parsed)
    root = choose_stage(out)
    with (
        hold_for_writing(root, parsed.corpus),
        sole_run(root, parsed.corpus),
        engine(workers) as where,
    ):
        yield Work(parsed, root, settings, where, observer)


def _read(spec: str | dict[str, Any]) -> Spec:
    if isinstance(spec, str):
        return read_spec(Path(spec))
    try:
        return Spec.model_validate(spec)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise SpecError("; ".join(faults), fix="fix the flow's parameter `spec`") from error


def _end_with_server() -> None:
    """A run that `segue night schedule` started does not outlive it."""
    if parent := os.environ.get(SERVED_BY):
        watch_parent(int(parent))
