"""How `tag-captions` is tested: captions worded as none in training is, or written by people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Final

import pyarrow.parquet as pq

from experiments.harness.experiment import Exam, ExamSplit, Folders
from synth.base.rng import Randomness
from synth.captions.caption import capitalise
from synth.corpus.corpus import CLIPS_FILE, Corpus
from synth.labels.lexicon import Tag
from synth.text.tags.tag_captions import draw_views, enumerate_words, join_tags
from synth.text.tags.tags import TagCategory, TagForm, add_article, phrase_tag
from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric
from train.bench.plan import Benchmark, DataKind, TaskPlan
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import CorpusSounds
from train.bench.tasks.recall import plan_captions
from train.config.run import AudioMode
from train.data.rows import Row
from train.data.split import SplitData

Told = Sequence[tuple[int, str]]
"""Numbers of sounds, and captions of them."""


class Manner(StrEnum):
    """How a test caption is worded."""

    BRIEF = "brief"
    """One tag of each category in a sentence."""
    PLAIN = "plain"
    """All tags in short sentences."""
    ORNATE = "ornate"
    """All tags in one long sentence, in another order."""
    WRITTEN = "written"
    """The captions that the library has of the clip."""
    LEARNT = "learnt"
    """The caption of the corpus, worded as in training."""
    JOINED = "joined"
    """All tags with commas between."""


MADE: Final = (Manner.BRIEF, Manner.PLAIN, Manner.ORNATE)
"""Worded by `reword`."""


def reword(manner: Manner, tags: Sequence[Tag]) -> str:
    """Tags in a sentence of no frame that the recipe has; "" where none can be said.

    Args:
        manner: One of `MADE`.
        tags: What to say; eras and themes are left out.
    """
    moods = _select_words(tags, TagCategory.MOOD)
    styles = _select_words(tags, TagCategory.GENRE)
    things = [words.noun for words in map(phrase_tag, tags) if words.is_thing]
    if not (moods or styles or things):
        return ""
    feel, style, heard = map(enumerate_words, (moods, styles, things))
    match manner:
        case Manner.BRIEF:
            parts = [
                f"something {feel}".strip(),
                f"in {add_article(f'{style} style')}" if style else "",
                f"where you hear {heard}" if heard else "",
            ]
            return _join_sentence(parts, " ")
        case Manner.PLAIN:
            sentences = [
                f"you can hear {heard}" if heard else "",
                f"it sounds {feel}" if feel else "",
                f"people would call it {style}" if style else "",
            ]
            return " ".join(_join_sentence([each], "") for each in sentences if each)
        case _:
            parts = [
                f"for those who like {style}" if style else "for everyone",
                f"full of {heard}" if heard else "",
                f"and leaving a mood that one may call {feel}" if feel else "",
            ]
            return _join_sentence(parts, ", ")


def _select_words(tags: Sequence[Tag], kind: TagCategory) -> list[str]:
    found = map(phrase_tag, tags)
    return [each.words for each in found if each.form is TagForm.ADJECTIVE and each.kind is kind]


def _join_sentence(parts: Sequence[str], between: str) -> str:
    return f"{capitalise(between.join(filter(None, parts)))}."


def make_retelling_exam(name: str, corpus: str, subset_size: int, subsets: int) -> Exam:
    """Retrieval within random subsets of a split, by captions unlike training's.

    `text_to_audio_r10` is the mean over captions of all manners of `MADE`, or over those that
    people wrote where the library has any; `MANNER_text_to_audio_r10` that of one manner.

    Args:
        corpus: Name of the corpus in the experiment, of the recipe `tag_captions`.
        subset_size: Sounds in a subset; all where there are no more.
        subsets: How many subsets.
    """
    settings = BenchSettings(subset_size=subset_size, subsets=subsets)
    return Exam(name, partial(_make_benchmark, corpus=corpus, settings=settings), (Task.RETRIEVAL,))


def _make_benchmark(
    folders: Folders, split: ExamSplit, corpus: str, settings: BenchSettings
) -> Benchmark:
    data = SplitData(Corpus.open(folders[corpus]), split.value, AudioMode.SHARDS)
    rows = data.rows(range(len(data)))
    told = {manner: list(_retell(manner, data, rows)) for manner in Manner}
    chosen = BenchSettings(
        seed=settings.seed,
        subset_size=min(settings.subset_size or len(rows), len(rows)),
        subsets=settings.subsets,
    )
    facts = {"corpus": corpus, "split": split.value}
    answers = {Task.RETRIEVAL: _make_plan(told, len(rows), chosen)}
    sounds = CorpusSounds(data, rows)
    return Benchmark(DataKind.CAPTIONS, f"{corpus}, told anew", facts, sounds, chosen, answers)


def _retell(manner: Manner, data: SplitData, rows: Sequence[Row]) -> Iterator[tuple[int, str]]:
    """Every sound's captions; none where people have not written of every clip."""
    if manner is Manner.WRITTEN:
        written = _read_written(data)
        found = [[text for clip in row["clips"] for text in written[clip]] for row in rows]
        if all(found):
            yield from ((sound, text) for sound, texts in enumerate(found) for text in texts)
        return
    for sound, row in enumerate(rows):
        tags = [tag for clip in row["clips"] for tag in data.tags.get(clip, ())]
        match manner:
            case Manner.LEARNT:
                text = row["caption"]
            case Manner.JOINED:
                text = join_tags(tags).text
            case Manner.BRIEF:
                rng = Randomness(0).at("tag-captions/brief", sound)
                # No view is as large as the whole: one tag of each category may be all there are.
                text = reword(manner, next(iter(draw_views(tags, 1, 1, rng)), tags))
            case _:
                text = reword(manner, tags)
        # A theme alone, say, is worded as in training.
        yield sound, text or row["caption"]


def _read_written(data: SplitData) -> Mapping[str, Sequence[str]]:
    table = pq.read_table(data.corpus.folder / CLIPS_FILE, columns=["id", "captions"])
    return {row["id"]: row["captions"] for row in table.to_pylist()}


def _make_plan(told: Mapping[Manner, Told], sounds: int, settings: BenchSettings) -> TaskPlan:
    """Retrieval by unlike captions together, and by those of each manner."""
    unlike = told[Manner.WRITTEN] or [each for manner in MADE for each in told[manner]]
    whole = plan_captions(unlike, sounds, settings)
    parts = {manner: plan_captions(each, sounds, settings) for manner, each in told.items() if each}
    texts = dict.fromkeys(text for plan in (whole, *parts.values()) for text in plan.texts)

    def measure(audio: Embeddings, embedded: Said) -> dict[str, Metric]:
        found = whole.measure(audio, embedded)
        for manner, plan in parts.items():
            by_manner = plan.measure(audio, embedded)
            found |= {f"{manner}_{name}": metric for name, metric in by_manner.items()}
        return found

    return TaskPlan(tuple(texts), measure)
