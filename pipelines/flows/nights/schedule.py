"""When a corpus's night comes, and how that is written down. No Prefect here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from pipelines.flows.servers.server import QUIET
from synth.base import doors
from synth.base.atomic import replacing
from synth.base.errors import SpecError
from synth.storage import url_of

ENTRYPOINT: Final = "pipelines.flows.nightly"
FLOW: Final = "nightly"
TAG: Final = "segue"
LIMIT: Final[Mapping[str, Any]] = {"limit": 1, "collision_strategy": "CANCEL_NEW"}
HEADER: Final = "# Written by `segue night deploy`; `prefect deploy --all` registers the same.\n"
_SPAN: Final = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>[smhd])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Times:
    """When a run begins: by cron, or every so many seconds; neither: only when it is told to.

    Args:
        cron: Minute, hour, day, month, weekday.
        timezone: Of `cron`, as in `Europe/Berlin`.
        every_s: Seconds from one beginning to the next.
    """

    cron: str | None = None
    timezone: str = "UTC"
    every_s: float | None = None

    @classmethod
    def of(cls, cron: str | None, every: str | None, timezone: str = "UTC") -> Times:
        """Times as the command line takes them."""
        if cron and every:
            raise SpecError("both --cron and --every are given", fix="give one")
        if every is None:
            return cls(cron, timezone)
        found = _SPAN.fullmatch(every)
        seconds = float(found["number"]) * _UNITS[found["unit"]] if found else 0.0
        if seconds < 1:
            raise SpecError(
                f"--every {every}: expected an interval of 1 s or more",
                fix="as in 10s, 30m, 6h, 1d",
            )
        return cls(None, timezone, seconds)

    def to_yaml(self) -> list[dict[str, Any]]:
        """As `schedules` of a prefect.yaml."""
        if self.cron:
            return [{"cron": self.cron, "timezone": self.timezone}]
        return [{"interval": self.every_s}] if self.every_s else []


@dataclass(frozen=True, slots=True)
class Night:
    """The nightly runs of one corpus.

    Args:
        corpus: Its name, and the deployment's.
        workers: Worker processes, or an engine's name.
        variables: Environment variables of the runs on a work pool. A value may name a block or a
            variable of Prefect: `{{ prefect.blocks.secret.NAME }}`, `{{ prefect.variables.NAME }}`.
    """

    corpus: str
    spec: Path
    out: Path
    workers: str | int
    nightly: Path | None
    times: Times
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Of the runs on a work pool."""
        return {**QUIET, **self.variables}

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the flow."""
        return {
            "spec": str(self.spec.resolve()),
            "out": url_of(self.out) or str(self.out.resolve()),
            "workers": self.workers,
            "nightly": str(self.nightly.resolve()) if self.nightly else None,
        }

    @property
    def tags(self) -> list[str]:
        """By which our deployments are found."""
        return [TAG, f"corpus:{self.corpus}"]

    def to_yaml(self, pool: str) -> dict[str, Any]:
        """As one of the `deployments` of a prefect.yaml."""
        return {
            "name": self.corpus,
            "entrypoint": ENTRYPOINT,
            "parameters": self.parameters,
            "schedules": self.times.to_yaml(),
            "concurrency_limit": dict(LIMIT),
            "tags": self.tags,
            "work_pool": {"name": pool, "job_variables": {"env": self.environment}},
        }


def write_prefect_yaml(path: Path, night: Night, pool: str) -> None:
    """Add a deployment to a prefect.yaml of ours, or replace the one of its name."""
    deployments: list[dict[str, Any]] = []
    if doors.require_regular(path, refuse=SpecError).exists():
        text = doors.read_text(path, refuse=SpecError)
        if not text.startswith(HEADER):
            raise SpecError(
                f"{path}: was not written by `segue night deploy`, so it is not overwritten",
                fix="choose another --file",
            )
        try:
            deployments = [dict(each) for each in yaml.safe_load(text)["deployments"]]
            others = [each for each in deployments if each["name"] != night.corpus]
        except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
            raise SpecError(f"{path}: damaged: {error}", fix="delete it") from error
        deployments = others
    deployments = sorted([*deployments, night.to_yaml(pool)], key=lambda each: str(each["name"]))
    text = yaml.safe_dump({"deployments": deployments}, sort_keys=False, allow_unicode=True)
    with replacing(path) as partial:
        partial.touch(0o600)  # the variables of its runs may be secrets
        partial.write_text(HEADER + text, encoding="utf-8")
