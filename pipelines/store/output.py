"""The file that a tool writes, checked before any work starts."""

from __future__ import annotations

from pathlib import Path

from synth.base.errors import SpecError


def check_output(out: Path, *inputs: Path | None) -> None:
    """Refuse an output that is no Parquet file by its name, or that is one of the inputs."""
    if out.suffix != ".parquet":
        raise SpecError(
            f"--out {out}: the result is a Parquet file", fix=f"name it {out.stem}.parquet"
        )
    if any(path is not None and path.resolve() == out.resolve() for path in inputs):
        raise SpecError(f"--out {out}: is the input file", fix="write to another file")
