"""Sounds that are composed with `+` and `*`, and become a scene whose captions are proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from segue.listening import PlacedScene
from synth.base.errors import SpecError
from synth.scene.scene import Concat, Event, Overlay, Scene, format_scene, parse

if TYPE_CHECKING:
    from segue.composing import Studio
    from synth.audio.dsp import Pcm

SoundSource: TypeAlias = str | Mapping[str, Any]
FOLEY: Final[SoundSource] = {"foley": {"takes": 4}}
"""Enough recordings of each class to choose from, and soon made."""


@dataclass(frozen=True, eq=False, repr=False)
class Sounds(PlacedScene):
    """Sounds: `dog + rain` is one after the other, `dog * rain` both at once.

    They get a waveform, captions and so on when these are first asked for.

    Args:
        wanted: The scene over labels, categories or `any`.
        source: Whose recordings they are; None for those that Segue computes.
        seed: Draws recordings, their places and words; None for any.
    """

    wanted: Scene
    source: SoundSource | None = None
    seed: int | None = None

    def __add__(self, other: Sounds) -> Sounds:
        return self._join(Concat, other)

    def __mul__(self, other: Sounds) -> Sounds:
        return self._join(Overlay, other)

    def _join(self, composition: type[Concat | Overlay], other: Sounds) -> Sounds:
        if not isinstance(other, Sounds):
            return NotImplemented
        seeds = {sounds.seed for sounds in (self, other)} - {None}
        for name, differ in (("source", self.source != other.source), ("seed", len(seeds) > 1)):
            if differ:
                raise SpecError(f"{self} and {other} have another {name}", fix="give both the same")
        return Sounds(composition(self.wanted, other.wanted), self.source, next(iter(seeds), None))

    def __str__(self) -> str:
        return format_scene(self.wanted)

    def __repr__(self) -> str:
        settings = [
            f", {key}={value!r}" for key in ("source", "seed") if (value := getattr(self, key))
        ]
        return f"segue.scene({str(self)!r}{''.join(settings)})"

    @cached_property
    def _studio(self) -> Studio:
        from segue.composing import open_studio

        return open_studio(FOLEY if self.source is None else self.source, self.seed or 0)

    @cached_property
    def row(self) -> Mapping[str, Any]:
        """All that a plan says of it."""
        return self._studio.compose(self.wanted)

    @property
    def _context(self) -> tuple[Mapping[str, Sequence[str]], int]:
        clips = [clip for clip in self._studio.usable if clip.id in self.row["clips"]]
        tags = {clip.id: [tag.name for tag in clip.tags] for clip in clips}
        return tags, self._studio.spec.setting.audible

    def render(self) -> tuple[Pcm, int]:
        """The waveform, 16 bit, mono, and its rate in Hz."""
        return self._studio.render(self.row), self.row["sample_rate"]


def scene(notation: str, source: SoundSource | None = None, seed: int | None = None) -> Sounds:
    """The sounds of a notation such as `(dog + rain) * wind`.

    Args:
        notation: `+` for one after the other, `*` for at once.
        source: Whose recordings they are, as in a spec, or as in `esc10:/data/ESC-10`; by default
            those that Segue computes.
        seed: Another one draws other recordings, places and words.
    """
    return Sounds(parse(notation), source, seed)


def sound(label: str, source: SoundSource | None = None, seed: int | None = None) -> Sounds:
    """One sound, to be composed with others; the arguments are those of `scene`."""
    return Sounds(Event(label), source, seed)
