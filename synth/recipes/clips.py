"""`clips`: captioned sounds as they are, one sample a clip.

Each caption that a library gives a clip is a true caption as it stands: it claims nothing that is
proven, and none is false. A clip without captions is told by its label. One that is longer than
`length: exact` is cut to one of its loudest stretches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from synth.base.rng import shuffle
from synth.captions.caption import Author, Caption, Provenance, capitalise
from synth.captions.contrast import CaptionSet
from synth.labels.lexicon import Phrase
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    Recipe,
    Setting,
    SplitGroups,
    excerpt,
    explain_too_short,
)
from synth.scene.scene import Event

UNNAMED: Final = "sound"
"""The label of all clips: of one that bore its own, others would be denied what captions say."""


class Clips(Recipe):
    """Captioned sounds as they are; there is nothing to set."""

    name: ClassVar[str] = "clips"
    mixes: ClassVar[bool] = False

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip needs a caption, or one label."""
        if not clip.captions and len(clip.labels) != 1:
            return f"has no caption and {len(clip.labels)} labels; clips needs one of either"
        return explain_too_short(clip, 0, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """A group a clip."""
        counts = {split: len(members) for split, members in clips.items()}
        return SingleClips.by_split(self, counts, clips, setting)


class SingleClips(SplitGroups[Clips]):
    """Groups of one clip each."""

    def group(self, index: int) -> Sequence[Draft]:
        """The clip with all its captions; which is the main one is drawn."""
        clip, rng = self.clips[index], self.rng(index)
        scene = Event(UNNAMED, excerpt(clip, self.setting.max_frames, self.setting, rng))
        texts = shuffle(list(dict.fromkeys(clip.captions)), rng)
        provenance = Provenance(Author.SOURCE, "caption")
        if not texts:
            texts = [capitalise(Phrase.of_label(clip.labels[0]).clause)]
            provenance = Provenance.of_rule("label")
        main, *others = (Caption(text, Event(UNNAMED), "", provenance) for text in texts)
        return [Draft(scene, CaptionSet(main, tuple(others), ()))]
