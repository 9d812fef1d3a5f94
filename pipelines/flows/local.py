"""Run a flow now: on the configured server, on the schedule's, or on one of the run's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from prefect.exceptions import ParameterTypeError
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

from pipelines.builder.build import Summary
from pipelines.builder.schedule import RenderSettings
from pipelines.config.spec import Spec
from pipelines.flows.corpus import Content, Result, flow_of
from pipelines.flows.holder import HOME, find_api
from pipelines.flows.schedule import NightlySettings
from pipelines.flows.servers import own_server, refuse_full
from synth.base.errors import SegueError, SpecError
from synth.base.progress import UNOBSERVED, Observer


def build_with_prefect(
    spec: Spec,
    out: Path,
    workers: str | int,
    observer: Observer = UNOBSERVED,
    settings: RenderSettings | None = None,
) -> Summary:
    """Build a corpus as a Prefect flow run."""
    night = NightlySettings(render=settings or RenderSettings()).model_dump(mode="json")
    content = spec.model_dump(mode="json")
    summary: Summary = _run("build-corpus", observer, content, out, workers, night)
    return summary


def nightly_with_prefect(
    spec: Path, out: Path, workers: str | int, settings: Path | None, observer: Observer
) -> Result:
    """Run the nightly flow once."""
    night = str(settings.resolve()) if settings else None
    result: Result = _run("nightly", observer, str(spec.resolve()), out, workers, night)
    return result


def _run(
    name: str,
    observer: Observer,
    spec: Content,
    out: Path,
    workers: str | int,
    night: Content | None,
) -> Any:
    """The flow's result; what it raised is raised here."""
    results: list[Any] = []
    flow = flow_of(name, observer, results.append)
    try:
        with server(out):
            state = flow(spec, str(out.resolve()), workers, night, return_state=True)
            if not state.is_completed():
                state.result(raise_on_failure=True)
            return results[0]
    except SegueError:
        raise
    except ParameterTypeError as error:
        raise SpecError(
            str(error).rpartition("Value error, ")[2],
            fix="fix it, or run the command again if it has changed meanwhile",
        ) from error
    except Exception as error:
        fault = _find_request_error(error)
        if fault is None:
            raise
        if not get_current_settings().api.url:
            refuse_full((out / HOME).resolve())
        raise SegueError(
            f"the Prefect server was lost: {type(fault).__name__}: {fault}",
            fix="run the same command again; finished shards are kept",
        ) from error


def _find_request_error(error: BaseException | None) -> httpx.HTTPError | None:
    """The failed request that an error comes from; Prefect makes errors of its own of some."""
    while error is not None and not isinstance(error, httpx.HTTPError):
        error = error.__cause__ or error.__context__
    return error


@contextmanager
def server(out: Path) -> Iterator[None]:
    """Prefect's API: configured, or that of the schedule over `out`, or one of our own."""
    with ExitStack() as stack:
        address = find_api(out) or stack.enter_context(own_server((out / HOME).resolve()))
        stack.enter_context(temporary_settings({PREFECT_API_URL: address}))
        yield
