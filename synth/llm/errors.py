"""What can be wrong with a reply."""

from __future__ import annotations

from synth.base.errors import SegueError


class AnswerError(SegueError):
    """A reply of which nothing can be used: no JSON, cut short, or ids that clash."""
