"""A sound library on the command line: `NAME:ROOT`."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from synth.base.errors import SpecError
from synth.sources import Settings, source_class


def parse_source(text: str) -> Settings:
    """The source of `NAME:ROOT`, or of `NAME` alone where it needs no folder.

    Raises:
        SpecError: If the text is of another form, or the source needs further settings.
        SourceError: If there is no such source.
    """
    name, separator, root = text.partition(":")
    found = source_class(name)
    if separator and not root:
        raise SpecError(f"{text}: expected NAME:ROOT", mend="as in esc50:/data/ESC-50")
    settings = {"root": Path(root).expanduser().resolve()} if root else {}
    try:
        return found.model_validate(settings)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise SpecError(
            f"{text}: {'; '.join(faults)}",
            mend="give NAME:ROOT, as in esc50:/data/ESC-50; `segue sources` lists the settings, "
            "which a spec can hold",
        ) from error
