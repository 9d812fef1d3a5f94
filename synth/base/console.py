"""The console of the commands, of all packages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from synth.base.doors import plain_text


class PlainConsole(Console):
    """A console on which text moves no cursor and sets no title: it may be a stranger's."""

    def render_str(self, text: str, **settings: Any) -> Text:
        """The text, escaped before its width is measured."""
        return super().render_str(plain_text(text, keep="\n\t"), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of what is printed; rich's own control sequences stay."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(plain_text(segment.text, keep="\n\t"), segment.style)


def make_console(**settings: Any) -> Console:
    """The console of a command: it breaks no line and colours no number, unless told to."""
    return PlainConsole(**{"soft_wrap": True, "highlight": False, **settings})
