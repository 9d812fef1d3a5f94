"""Models: trained on a corpus, tested and compared."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.base.command import CommandResult

if TYPE_CHECKING:
    from train.engine.loop import TrainResult


class Figures(dict[str, Any]):
    """What a test or a comparison found, as `--json` prints it; it shows as on a terminal."""

    def __init__(self, result: CommandResult) -> None:
        super().__init__(result.facts)
        with redirect_stdout(io.StringIO()) as shown:
            result.show()
        self._shown = shown.getvalue().rstrip()

    def __repr__(self) -> str:
        return self._shown


def train(
    corpus: PathLike[str] | str,
    out: PathLike[str] | str | None = None,
    config: Mapping[str, Any] | PathLike[str] | str | None = None,
    *,
    clap: str | None = None,
    head: str | None = None,
    steps: int | None = None,
    seed: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> TrainResult:
    """Train a model; the arguments are the options of `segue train`.

    Args:
        config: A file of settings, or what one says; by default those of the demo.
    """
    from pipelines.cli.common.progress_display import show_progress
    from synth.corpus.kinds import PathKind, expect
    from train.cli.train import make_config
    from train.config.model import HeadKind
    from train.engine.loop import train as run

    place = Path(corpus)
    expect(place, PathKind.CORPUS, PathKind.OTHER)
    settings = make_config(
        place,
        config if config is None or isinstance(config, Mapping) else Path(config),
        clap,
        HeadKind(head) if head else None,
        False,
        steps,
        seed,
        None if out is None else Path(out),
    )
    with show_progress(as_json=False) as observer:
        return run(settings, observer, resume=resume, overwrite=overwrite)


def evaluate(
    model: TrainResult | PathLike[str] | str,
    data: PathLike[str] | str,
    split: str = "test",
    **options: Any,
) -> Figures:
    """Test a model on a split of a corpus, or on a benchmark; options are those of `segue eval`."""
    from pipelines.cli.common.progress_display import show_progress
    from train.cli.eval import eval_command

    given = frozenset(f"--{name.replace('_', '-')}" for name in options)
    with show_progress(as_json=False) as observer:
        result = eval_command(
            _place(model), Path(data), split=split, given=given, observer=observer, **options
        )
    return Figures(result)


def compare(*runs: TrainResult | PathLike[str] | str, test: str | None = None) -> Figures:
    """Compare trained models by the tests that are in their folders."""
    from train.cli.compare import compare_command

    return Figures(compare_command([*map(_place, runs)], test))


def _place(model: Any) -> Path:
    """A run's folder, or what else names a model."""
    return Path(getattr(model, "folder", model))
