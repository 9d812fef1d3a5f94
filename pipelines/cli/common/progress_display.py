"""Progress as people and programs see it: bars on a terminal, else plain lines or lines of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from pipelines.cli.common.tracker import Phase, Tracker
from synth.base.doors import make_console, plain_text
from synth.base.progress import Observer

INTERVAL_S: Final = 1.0
"""Least time between two lines of JSON of one phase, but for its last."""
SOON_S: Final = 0.1
"""How long a command lasts before its first plain line."""
LASTS_S: Final = 0.5
"""How long a phase lasts before its own."""
BEAT_S: Final = 15.0
"""Longest time without a line."""

TOLD: Final = ("mend", "block")
"""Phases that end with a note which everybody needs."""


class JsonLines(Tracker):
    """A line of JSON on stdout for each phase: one a second at most, and one at its end."""

    def move(self, phase: Phase) -> None:
        """Write a line, where one is due; the first when the first second is over."""
        since = phase.begun if phase.shown is None else phase.shown
        is_due = self.clock() - since >= INTERVAL_S and phase.done < phase.total
        if is_due or phase.is_over:
            self._write(phase)

    def wait(self, phase: Phase) -> None:
        """Write the phase's line again."""
        if self.clock() - self.last >= BEAT_S:
            self._write(phase)

    def _write(self, phase: Phase) -> None:
        self.last = phase.shown = self.clock()
        line = {
            "progress": phase.name,
            "done": phase.done,
            "total": phase.total,
            "unit": phase.unit,
            "seconds": round(self.last - phase.begun, 2),
        }
        if phase.note and phase.name in TOLD:
            line["note"] = phase.note
        sys.stdout.write(f"{json.dumps(line, ensure_ascii=False)}\n")
        sys.stdout.flush()


class Lines(Tracker):
    """Plain lines on the standard error: one of each phase that lasts, then one every `BEAT_S`.

    A long phase has one at its end, too.
    """

    def move(self, phase: Phase) -> None:
        """Write the end of a long phase, and what everybody needs."""
        if phase.is_over and phase.note and phase.name in TOLD:
            self._write(phase, phase.note)
        elif phase.is_over and self.clock() - phase.begun >= BEAT_S:
            self._write(phase, self._describe(phase))

    def wait(self, phase: Phase) -> None:
        """Write how far the phase is."""
        now = self.clock()
        soon = SOON_S if self.command.shown is None else LASTS_S
        if (phase.shown is None and now - phase.begun >= soon) or now - self.last >= BEAT_S:
            self._write(phase, self._describe(phase))

    def _describe(self, phase: Phase) -> str:
        """As `120 of 1,400 steps, 35 s, loss 2.1`."""
        units = f"{phase.done:,} of {phase.total:,} {phase.unit}" if phase.unit else "under way"
        lasted = "" if phase.shown is None else f"{self.clock() - phase.begun:,.0f} s"
        return ", ".join(filter(None, (units, lasted, phase.note)))

    def _write(self, phase: Phase, text: str) -> None:
        self.last = phase.shown = self.command.shown = self.clock()
        sys.stderr.write(plain_text(f"{phase.name}: {text}") + "\n")
        sys.stderr.flush()


@contextmanager
def show_progress(as_json: bool, command: str = "segue") -> Iterator[Observer]:
    """Show what is done while the block runs.

    An error that ends the block gets a note of what the same command will not do again.

    Args:
        command: What is under way before and between the phases.
    """
    console = make_console(stderr=True, soft_wrap=False)
    with ExitStack() as stack:
        if os.environ.get("RANK", "0") != "0":
            tracker = Tracker(command)  # torchrun's first process shows what all do
        elif as_json:
            tracker = JsonLines(command)
        elif not console.is_terminal:
            tracker = Lines(command)
        else:
            from pipelines.cli.common.bars import show_bars

            tracker = stack.enter_context(show_bars(console))
        try:
            with tracker.beating():
                yield tracker
        except BaseException as error:
            if tracker.kept:
                error.add_note(tracker.kept)
            raise
        finally:
            tracker.close()
