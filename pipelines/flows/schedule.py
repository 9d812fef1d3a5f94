"""When a corpus's night comes, and how that is written down. No Prefect here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from pipelines.builder.schedule import RenderSettings
from pipelines.flows.servers import QUIET
from pipelines.llm.settings import AskSettings
from synth.base import doors
from synth.base.atomic import replacing
from synth.base.choice import StrictModel
from synth.base.errors import SpecError
from synth.base.yaml_file import explain_errors, read_yaml
from synth.storage import resolve_place

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
            raise SpecError(
                "got both --cron and --every: expected one", fix="leave out one of them"
            )
        if every is None:
            return cls(cron, timezone)
        span = _SPAN.fullmatch(every)
        seconds = float(span["number"]) * _UNITS[span["unit"]] if span else 0.0
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
            "out": resolve_place(self.out),
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
    deployments: dict[str, dict[str, Any]] = {}
    if doors.require_regular(path, refuse=SpecError).exists():
        text = doors.read_text(path, refuse=SpecError)
        if not text.startswith(HEADER):
            raise SpecError(
                f"{path}: was not written by `segue night deploy`, so it is not overwritten",
                fix="choose another --file",
            )
        try:
            listed = yaml.safe_load(text)["deployments"]
            deployments = {str(deployment["name"]): dict(deployment) for deployment in listed}
        except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
            raise SpecError(f"{path}: damaged: {error}", fix="delete it") from error
    deployments[night.corpus] = night.to_yaml(pool)
    ordered = [deployments[name] for name in sorted(deployments)]
    text = yaml.safe_dump({"deployments": ordered}, sort_keys=False, allow_unicode=True)
    with replacing(path) as partial:
        partial.touch(0o600)  # the variables of its runs may be secrets
        partial.write_text(HEADER + text, encoding="utf-8")


# The settings of a nightly run: a small YAML file beside the spec.


SUFFIX: Final = ".nightly.yaml"
_FEWER_IS_BETTER: Final = "median_rank"


class GateSettings(StrictModel):
    """What a version must be for `latest` to be pointed to it; a violated caption never passes.

    Args:
        quarantine: Largest share of the library's clips that may be quarantined.
        samples: Smallest number of samples, as a share of the last version's.
        blind: Highest figure of the blind test, None to leave the test out; 0.5 is chance. The
            worst figure counts; where its chance is less, so is the limit.
        blind_samples: Samples that the blind test looks at, about.
        trivial: The same of the test by trivial audio.
        trivial_samples: Samples that it looks at, about.
        leaked: Most clips that two splits may share.
        audio: Samples whose audio is listened to, as `segue audit --audio` does; a finding never
            passes. None to leave it out.
        metrics: Metrics that may not fall below the last version's by more than this margin, where
            a model is trained; more must be better.
    """

    quarantine: float = Field(default=0.1, ge=0, le=1)
    samples: float = Field(default=0.9, ge=0, le=1e9)
    blind: float | None = Field(default=None, ge=0.5, le=1)
    blind_samples: int = Field(default=8000, ge=100)
    trivial: float | None = Field(default=None, ge=0.5, le=1)
    trivial_samples: int = Field(default=4000, ge=100)
    leaked: int = Field(default=0, ge=0)
    audio: int | None = Field(default=None, ge=1)
    metrics: dict[str, float] = Field(default_factory=dict)

    @field_validator("metrics")
    @classmethod
    def _check_metrics(cls, metrics: dict[str, float]) -> dict[str, float]:
        for name, margin in metrics.items():
            if _FEWER_IS_BETTER in name:
                raise ValueError(
                    f"{name}: lower is better for it; name a metric where "
                    "higher is better, such as recall"
                )
            if margin < 0:
                raise ValueError(f"{name}: a margin must be 0 or more, got {margin}")
        return metrics


class TrainSettings(StrictModel):
    """A model that is trained on every new version and tested on it.

    Args:
        config: Settings of `segue train`; the demo's without.
        steps: Shortens or lengthens all stages.
        split: The split it is tested on.
        virtual: Render from plan and bank instead of reading shards.
        hours: Longest that training and testing may take, each.
        launcher: Words before the command, as [torchrun, --nproc-per-node, "4", --no-python].
    """

    config: Path | None = None
    steps: int | None = Field(default=None, ge=1, le=10**9)
    split: str = "test"
    virtual: bool = False
    hours: float = Field(default=12.0, gt=0, le=8760)
    launcher: tuple[str, ...] = ()


class NightlySettings(StrictModel):
    """What a nightly run does beside rebuilding, and how it renders.

    Args:
        gates: What a version must be.
        render: How long a shard may take and how often it is tried.
        enrich: Tasks of a language model.
        train: The model to be trained, None for none.
    """

    gates: GateSettings = GateSettings()
    render: RenderSettings = RenderSettings()
    enrich: tuple[AskSettings, ...] = ()
    train: TrainSettings | None = None

    @model_validator(mode="after")
    def _check_training(self) -> NightlySettings:
        if self.gates.metrics and self.train is None:
            raise ValueError("gates.metrics compare trained models: add `train: {}`")
        return self


def settings_beside(spec: Path) -> Path | None:
    """`NAME.nightly.yaml` beside `NAME.yaml`, if it is there."""
    path = spec.with_name(spec.stem + SUFFIX)
    return path if path.is_file() else None


def read_nightly(path: Path | None) -> NightlySettings:
    """Read and check the settings; relative paths in them are taken from the file's folder.

    Args:
        path: The file, None for the defaults.
    """
    if path is None:
        return NightlySettings()
    file = read_yaml(path)
    if not isinstance(file.value, dict | None):
        raise SpecError(f"{file.place()}: expected keys and values", fix="start with `gates:`")
    try:
        settings = NightlySettings.model_validate(file.value or {})
    except ValidationError as error:
        fix = "docs/nightly.md shows every setting"
        raise explain_errors(error, file, NightlySettings, fix) from error
    return settings.model_copy(update=_make_absolute(settings, path.parent.resolve()))


def _make_absolute(settings: NightlySettings, folder: Path) -> dict[str, Any]:
    """The settings that hold paths, with these made absolute."""

    def resolve(model: BaseModel, *names: str) -> Any:
        paths = {name: getattr(model, name) for name in names}
        return model.model_copy(
            update={name: folder / path.expanduser() for name, path in paths.items() if path}
        )

    return {
        "enrich": tuple(resolve(task, "out", "prices", "store") for task in settings.enrich),
        "train": resolve(settings.train, "config") if settings.train else None,
    }
