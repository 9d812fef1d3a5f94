"""Where a command writes."""

from __future__ import annotations

from pathlib import Path

from pipelines.store.stage import choose_stage
from synth.base.errors import SpecError
from synth.storage import url_of
from synth.storage.filesystems import is_private


def resolve_destination(out: Path, stage: Path | None = None) -> Path:
    """The folder to work in for `--out` and `--stage`."""
    refuse_fleeting(out)
    return choose_stage(out, stage)


def refuse_fleeting(out: Path) -> None:
    """Check that what is written outlives the command."""
    url = url_of(out)
    if url is not None and is_private(url):
        raise SpecError(
            f"--out {url}: exists in this process only, and ends with this command",
            fix="give a folder, file:///FOLDER or a store; "
            "`pipelines.build.build.build(spec, URL, 0)` builds there from Python",
        )
