"""`acba`: two captioned clips joined by a crossfade, their captions by an ordering word.

After Wu et al. (2023), section 3.3: captions that hold no ordering word, a 1 s linear crossfade,
and "s1 before s2" or "s2 after s1" for clip 1 followed by clip 2. Clips without captions are said
by their label. Unlike the authors' script: whole-word filter, seeded, nothing padded or lost, and
the two sentences share no content word and no family of words ("a man talks", "someone speaks"), so
that neither can be said to describe the other's sound. In natural style a caption is put into the
form that its place in the sentence asks for, and one that has none is not used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from synth.base.errors import PlanError
from synth.base.units import Frames, Seconds, to_frames
from synth.recipes.acba_settings import AcbaSettings
from synth.recipes.base import (
    Groups,
    Setting,
    check_splits,
    excerpt,
    explain_misleading,
    explain_too_short,
    longest_event,
    make_listener,
)
from synth.recipes.clip_pairs import ClipPairs
from synth.recipes.clips import Clip, share_out
from synth.scene.scene import Concat, Event, statement
from synth.truth.relations import Tolerance
from synth.truth.truth import proves


class Acba(AcbaSettings):
    """The recipe: pairs of clips, joined in one order or in both."""

    name: ClassVar[str] = "acba"

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Events must be longer than the crossfade, and `pairs` must be for the spec's splits."""
        longest_event(self.max_event_s, to_frames(self.crossfade_s, setting.rate), setting)
        check_splits("recipe.acba.pairs", self.pairs, splits)

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip needs a caption without ordering words, or one label, and twice the crossfade."""
        if clip.captions and not self.sentences(clip):
            return f"no caption can be joined: the first {self.explain(clip.captions[0])}"
        if not clip.captions and len(clip.labels) != 1:
            return f"has no caption and {len(clip.labels)} labels; acba needs one of either"
        if not clip.captions and (reason := explain_misleading(clip.labels[0], self.style)):
            return reason
        crossfade = to_frames(self.crossfade_s, setting.rate)
        if reason := explain_too_short(clip, crossfade, setting):
            return reason
        return explain_too_sparse(clip, crossfade, self.max_event_s, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Pairs of clips of different recordings."""
        samples = self._samples(clips)
        for split in samples:
            recordings = {clip.recording for clip in clips.get(split, ())}
            if len(recordings) < 2:
                raise PlanError(
                    f"split {split}: acba needs clips of two recordings, found {len(recordings)}",
                    fix="add clips, change the splits, or try another `seed`",
                )
        return {
            split: ClipPairs(self, split, count, tuple(clips[split]), setting)
            for split, count in samples.items()
        }

    def _samples(self, clips: Mapping[str, Sequence[Clip]]) -> dict[str, int]:
        if not isinstance(self.pairs, int):
            return self.pairs
        return share_out(self.pairs, clips)


def explain_too_sparse(
    clip: Clip, crossfade: Frames, max_event_s: Seconds | None, setting: Setting
) -> str | None:
    """Why a clip cannot be joined to any: not even to itself, so much of it the crossfade covers.

    It would lead, as every clip does, and find no partner.
    """
    longest = longest_event(max_event_s, crossfade, setting)
    rng = setting.randomness.at("acba/sparse", 0)
    part = excerpt(clip, longest, setting, rng)
    joined = Concat(Event("one", part), Event("other", part), crossfade)
    heard = make_listener([clip], setting).hear(joined)
    if proves(heard, statement(joined), Tolerance(audible=setting.audible)):
        return None
    return (
        "is heard too seldom: half of what is heard of it must be left by a crossfade of "
        f"{crossfade / setting.rate:g} s"
    )
