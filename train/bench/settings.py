"""What a user may choose about a test."""

from __future__ import annotations

from dataclasses import dataclass

from synth.base.errors import SpecError

SLOT = "{}"


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """Settings of all tasks.

    Args:
        seed: Of every draw and of every bootstrap, 0 or more.
        subset_size: Retrieval as the mean over random subsets of this many audios (Manco et al. use
            500); None for retrieval among all.
        subsets: Number of such subsets.
        negation_sample: At most this many samples, drawn at random, for the negation tasks
            (Vasilakis et al. use 512); None for all.
        prompts: Prompts that ZSTE T4 and T5B choose among, the right ones included, where the
            classes allow as many.
        templates: Prompts of zero-shot classification, each with {} for the class.
        cut: Hear the first part of audio that is longer than the model takes, and count it; else
            such audio is an error.
    """

    seed: int = 0
    subset_size: int | None = None
    subsets: int = 10
    negation_sample: int | None = 512
    prompts: int = 50
    templates: tuple[str, ...] = ("This is a sound of {}.",)
    cut: bool = False

    def __post_init__(self) -> None:
        for name, value, least in (
            ("seed", self.seed, 0),
            ("subset_size", self.subset_size, 1),
            ("subsets", self.subsets, 1),
            ("negation_sample", self.negation_sample, 1),
            ("prompts", self.prompts, 4),
        ):
            if value is not None and value < least:
                raise SpecError(f"{name}: {value}", fix=f"give {least} or more")
        if not self.templates:
            raise SpecError("no templates", fix="give one, such as 'the sound of {}'")
        for template in self.templates:
            if template.count(SLOT) != 1:
                raise SpecError(
                    f"template {template!r} holds {{}} {template.count(SLOT)} times",
                    fix="write {} once, where the class goes",
                )


def fill_template(template: str, words: str) -> str:
    """The prompt of a template, whatever braces the words hold."""
    return template.replace(SLOT, words)
