"""What text alone and trivial audio score on a split: baselines of whatever is tested on it.

They are kept as `shortcuts.json` beside the corpus, so that they are measured once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from synth.base.atomic import write_text
from synth.base.doors import read_json, require_regular
from synth.base.errors import CorpusError
from synth.base.progress import Observer
from synth.corpus.corpus import SAMPLES_FILE, Corpus
from synth.shortcuts.audio import run_trivial_test
from synth.shortcuts.figures import TRIPLETS, ShortcutFigure, Shortcuts, TooFewGroupsError
from synth.shortcuts.text import run_blind_test

SHORTCUTS_FILE: Final = "shortcuts.json"
_FORMAT: Final = 1
"""Changes with the classifiers, too."""
_MOST_SAMPLES: Final = 1500


class Baseline(NamedTuple):
    """What captions alone, or trivial features of audio, tell; None where too few groups tell."""

    text: float | None
    trivial: float | None


class _Stored(BaseModel):
    """The file: figures by split."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: int
    digest: str
    text: dict[str, tuple[ShortcutFigure, ...]] = {}
    trivial: dict[str, tuple[ShortcutFigure, ...]] = {}


def find_baselines(corpus: Corpus, split: str, observer: Observer) -> dict[str, Baseline]:
    """The baselines of a split by kind of negative, "" for all: which of two captions is true?

    That of `triplets` is of three. What was measured before is read; else it is measured now, on
    some 1,500 samples, and kept where the corpus's folder can be written to. There are none where
    the audio cannot be read.
    """
    stored = _read(corpus)
    if split not in stored.trivial:
        text = partial(run_blind_test, corpus.folder / SAMPLES_FILE)
        trivial = partial(run_trivial_test, corpus)
        try:
            by_audio = _measure(trivial, split, observer)
        except CorpusError:  # no audio to hear: it is measured when there is some
            return {}
        stored = stored.model_copy(
            update={
                "text": {**stored.text, split: _measure(text, split, observer)},
                "trivial": {**stored.trivial, split: by_audio},
            }
        )
        with contextlib.suppress(OSError):
            write_text(corpus.folder / SHORTCUTS_FILE, stored.model_dump_json(indent=1) + "\n")
    text_by_kind, trivial_by_kind = map(_list_choices, (stored.text[split], stored.trivial[split]))
    return {
        kind: Baseline(text_by_kind.get(kind), trivial_by_kind.get(kind))
        for kind in {**text_by_kind, **trivial_by_kind}
    }


def _read(corpus: Corpus) -> _Stored:
    """What is kept; nothing where it is not of this corpus, or measured otherwise than today."""
    empty = _Stored(format=_FORMAT, digest=str(corpus.facts["digest"]))
    path = require_regular(corpus.folder / SHORTCUTS_FILE)
    if not path.is_file():
        return empty
    try:
        stored = _Stored.model_validate(read_json(path))
    except (CorpusError, ValidationError):
        return empty
    same = (stored.format, stored.digest) == (empty.format, empty.digest)
    return stored if same and stored.text.keys() == stored.trivial.keys() else empty


def _measure(
    test: Callable[..., Shortcuts], split: str, observer: Observer
) -> tuple[ShortcutFigure, ...]:
    """The figures of a test; none where there are too few groups."""
    try:
        return test(_MOST_SAMPLES, observer=observer, splits=[split]).figures
    except TooFewGroupsError:
        return ()


def _list_choices(figures: tuple[ShortcutFigure, ...]) -> Mapping[str, float]:
    """The share of right choices, by kind."""
    return {
        figure.kind: figure.value
        for figure in figures
        if figure.measure == ("first" if figure.kind == TRIPLETS else "member")
    }
