"""What the page shows of one sample: judged captions, drawing, siblings, clips."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup, escape

from pipelines.look.browse.drawing import Drawing, draw
from pipelines.look.browse.explain import Explainer
from pipelines.look.browse.query import MAX_SIBLINGS, Filter, Manifest, find_mix_licence
from synth.base.errors import CorpusError, SceneError
from synth.captions.narrative import Resolution, format_span
from synth.corpus.schema import read_dense, read_timeline
from synth.labels.lexicon import heard_tags
from synth.scene.claim import claim_from_text
from synth.scene.scene import from_text
from synth.truth.change import annotate
from synth.truth.relations import Tolerance
from synth.truth.truth import proves

_ABOUT: Final = {
    Resolution.STRETCH: "each stretch in which a sound is heard",
    Resolution.SOUND: "each sound from its first clear moment to its last",
    Resolution.SCENE: "cut where the set of clear sounds changes",
}


@dataclass(frozen=True, slots=True)
class JudgedCaption:
    """A caption, and what its timeline says of it.

    Args:
        kind: Edit kind of a negative, or `restatement`.
        holds: Whether the timeline proves a true one, or refutes a false one; None where the
            manifest does not say what can be heard.
    """

    text: str
    kind: str
    generator: str
    holds: bool | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SampleView:
    """One sample as it is shown.

    Args:
        dense: Name, meaning and captions of each resolution.
        siblings: Other samples of the same minimal-pair group.
    """

    row: Mapping[str, Any]
    drawing: Drawing
    caption: JudgedCaption
    positives: tuple[JudgedCaption, ...]
    negatives: tuple[JudgedCaption, ...]
    licence: str
    clips: tuple[Mapping[str, Any], ...]
    dense: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]
    siblings: tuple[tuple[Mapping[str, Any], Drawing], ...]
    more_siblings: bool


def make_view(manifest: Manifest, row: Mapping[str, Any]) -> SampleView:
    """Judge and draw a row of the manifest."""
    try:
        return _build_view(manifest, row)
    except (ValueError, SceneError) as error:
        raise CorpusError(
            f"{manifest.path}: sample {row['id']}: {error}", fix="build or plan again"
        ) from error


def _build_view(manifest: Manifest, row: Mapping[str, Any]) -> SampleView:
    scene = from_text(row["scene"])
    clips = manifest.find_clips(sorted(set(row["clips"])))
    tags = {name: [tag.name for tag in heard_tags(clip["tags"])] for name, clip in clips.items()}
    placed = annotate(read_timeline(row), tags)
    judge = None
    if manifest.audible is not None:
        tolerance = Tolerance(audible=manifest.audible)
        judge = Explainer(placed, tolerance, row["sample_rate"])
    main = {"text": row["caption"], "claim": row["claim"], "kind": row["relation"]}
    drawing = draw(scene, row["frames"], row["sample_rate"], placed=read_timeline(row))
    siblings = manifest.find_siblings(row)
    licences = [clips[name]["licence"] if name in clips else "" for name in row["clips"]]
    rate = row["sample_rate"]
    return SampleView(
        row=row,
        drawing=drawing,
        caption=_judge_true(main | {"generator": row["generator"]}, judge),
        positives=tuple(_judge_true(caption, judge) for caption in row["positives"]),
        negatives=tuple(_judge_false(caption, judge) for caption in row["negatives"]),
        licence=find_mix_licence(licences),
        clips=tuple(clips[name] for name in dict.fromkeys(row["clips"]) if name in clips),
        dense=tuple(
            (
                resolution.value,
                _ABOUT[resolution],
                tuple((format_span(caption, rate), caption.text) for caption in captions),
            )
            for resolution, captions in groupby(read_dense(row), lambda caption: caption.resolution)
        ),
        siblings=tuple((sibling, _draw_row(sibling, drawing.colours)) for sibling in siblings),
        more_siblings=len(siblings) == MAX_SIBLINGS,
    )


def _draw_row(row: Mapping[str, Any], colours: Mapping[str, int]) -> Drawing:
    scene = from_text(row["scene"])
    return draw(scene, row["frames"], row["sample_rate"], colours, read_timeline(row))


def _judge_true(caption: Mapping[str, str], judge: Explainer | None) -> JudgedCaption:
    holds = None
    if judge is not None:
        claim = claim_from_text(caption["claim"])
        holds = proves(judge.placed, claim, judge.tolerance)
    return JudgedCaption(caption["text"], caption["kind"], caption["generator"], holds)


def _judge_false(caption: Mapping[str, str], judge: Explainer | None) -> JudgedCaption:
    claim = claim_from_text(caption["claim"])
    reason = None if judge is None else judge.explain(claim)
    holds = None if judge is None else reason is not None
    return JudgedCaption(caption["text"], caption["kind"], caption["generator"], holds, reason)


# Text of the page: links, words found, numbers with their nouns.


def make_link(place: str, search: Filter, page: int = 1, sample: str = "") -> str:
    """A link within the page that keeps the filter."""
    params = search.to_params()
    if page > 1:
        params["page"] = str(page)
    if sample:
        params["sample"] = sample
    return f"{place}?{urlencode(params)}" if params else place


def add_sample(link: str, sample: str) -> str:
    """A link of `make_link` to a sample, whose id needs no escapes; for links in their dozens."""
    return f"{link}{'&' if '?' in link else '?'}sample={sample}"


def mark_words(text: str, words: str) -> Markup:
    """The text, escaped, with every occurrence of the words marked."""
    terms = sorted(set(words.split()), key=len, reverse=True)
    if not terms:
        return escape(text)
    pieces = re.split(f"({'|'.join(map(re.escape, terms))})", text, flags=re.IGNORECASE)
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece) if at % 2 else escape(piece)
        for at, piece in enumerate(pieces)
    )


def find_words(row: Mapping[str, Any], words: str) -> tuple[str, str] | None:
    """The sentence beside the caption that holds the words, and whether it is true or false.

    Args:
        words: What was searched for; none, or ones that the caption holds, give None.
    """
    terms = words.lower().split()

    def holds(text: str) -> bool:
        return all(word in text.lower() for word in terms)

    if not terms or holds(row["caption"]):
        return None
    for kind, column in (("true", "true_texts"), ("false", "false_texts")):
        for text in row[column]:
            if holds(text):
                return kind, text
    return None
