"""The trivial test: can a classifier that knows no sound tell which caption fits a sample?

If it can, a model may learn to do the same: to look at a sample's length, level or pauses instead
of listening. Gradient boosting over features of the audio, and over the form of a caption's claim
without its labels. No recording of a sample that is judged was learned from.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Bool, Float, Int

from synth.audio.dsp import Pcm, attacks, from_pcm
from synth.base.doors import parse_json
from synth.base.progress import UNOBSERVED, Observer, track
from synth.base.rng import Randomness
from synth.corpus.corpus import CLIPS_FILE, SAMPLES_FILE, Corpus
from synth.scene.claim import Quantity
from synth.shortcuts.figures import (
    FOLDS,
    RivalSet,
    Sentences,
    ShortcutFigure,
    Shortcuts,
    SplitSentences,
    TooFewGroupsError,
    draw_rows,
    measure_accuracy,
    measure_choices,
    one_thread,
    pair_up,
)

FEATURES: Final = (
    *("length_s", "before_s", "after_s", "active_s", "segment_s", "longest_s", "gap_s"),
    *("centre_s", "spread_s", "segments", "attacks"),
    *("level_db", "peak_db", "crest_db", "first_db", "last_db", "thirds_db", "centre", "spread"),
)
"""Length; silence before and after; active time; mean and longest segment, longest gap; centre of
energy and its spread; number of segments and of attacks; levels; centre and spread in lengths."""
_COMPARABLE: Final = FEATURES.index("attacks") + 1
"""So many of them, in seconds or times, are also given relative to what a caption claims."""

_BLOCK_S: Final = 0.02
_PAUSE_BLOCKS: Final = 5
_ACTIVE_DB: Final = 35.0
_SILENCE: Final = 1e-12

_ROUNDS: Final = 12
_HELD_OUT: Final = 0.25
"""Of the recordings, in each round."""
_MOST_FORMS: Final = 250
_COLUMNS: Final = ("claim", "clips", "shard", "offset", "size")


def describe_audio(pcm: Pcm, rate: int) -> Float[np.ndarray, " features"]:
    """The `FEATURES` of a sample."""
    audio = from_pcm(pcm)
    starts = np.arange(0, len(audio), max(1, round(_BLOCK_S * rate)))
    energy = np.add.reduceat(np.square(audio, dtype=np.float64), starts)
    powers = energy / np.diff(np.append(starts, len(audio))) + _SILENCE
    begins, ends = _find_segments(powers >= powers.max() * 10 ** (-_ACTIVE_DB / 10))
    lengths, gaps = ends - begins, begins[1:] - ends[:-1]
    places = np.arange(len(powers)) + 0.5
    centre = float(np.average(places, weights=energy + _SILENCE))
    spread = float(np.sqrt(np.average(np.square(places - centre), weights=energy + _SILENCE)))
    peak = float(np.abs(audio).max())
    thirds = [part.mean() for part in np.array_split(powers, 3) if len(part)]
    blocks = (
        *(begins[0], len(powers) - ends[-1], lengths.sum(), lengths.mean(), lengths.max()),
        *(gaps.max(initial=0), centre, spread),
    )
    level, *others = 10 * np.log10(
        [
            *(powers.mean(), peak**2 + _SILENCE, thirds[0], thirds[-1]),
            *(powers[begins[at] : ends[at]].mean() for at in (0, -1)),
        ]
    )
    peak_db, first_third, last_third, first, last = others
    return np.array(
        [
            *(len(audio) / rate, *(count * _BLOCK_S for count in blocks)),
            *(len(begins), attacks(audio, rate).sum()),
            *(level, peak_db, peak_db - level, first, last, first_third - last_third),
            *(centre / len(powers), spread / len(powers)),
        ]
    )


def _find_segments(
    active: Bool[np.ndarray, " blocks"],
) -> tuple[Int[np.ndarray, " segments"], Int[np.ndarray, " segments"]]:
    """Where active stretches begin and end; pauses below 0.1 s do not part them."""
    edges = np.flatnonzero(np.diff(active, prepend=False, append=False))
    begins, ends = edges[::2], edges[1::2]
    parted = begins[1:] - ends[:-1] >= _PAUSE_BLOCKS
    return begins[np.append(True, parted)], ends[np.append(parted, True)]


class ClaimOutline(NamedTuple):
    """The form of a claim, in which labels are numbered as it names them.

    Args:
        orders: How often it says that sounds follow one another.
        value: A time in seconds or how often a sound is heard; 0 where it measures neither.
    """

    orders: int
    form: str
    value: float

    @classmethod
    def of(cls, claim: str, rate: int) -> ClaimOutline:
        """That of a claim as JSON, whose times are in frames."""
        labels: dict[str, int] = defaultdict(lambda: len(labels))
        values: list[float] = []

        def outline(value: Any) -> str:
            match value:
                case {"event": str(label)}:
                    return str(labels[label])
                case {"count": sound, "times": times}:
                    values.append(times)
                    return f"count({outline(sound)})"
                case {"measure": measure, "of": of, "value": amount} if Quantity(measure).is_time:
                    values.append(amount / rate)
                    return f"{measure}{outline(of)}"
                case dict():
                    return ",".join(f"{name}:{outline(inner)}" for name, inner in value.items())
                case list():
                    return f"({','.join(map(outline, value))})"
                case _:
                    return str(value)

        form = outline(parse_json(claim, "claim"))
        return cls(form.count("sequence"), form, values[0] if values else 0.0)


def run_trivial_test(
    corpus: Corpus,
    most_samples: int,
    seed: int = 0,
    observer: Observer = UNOBSERVED,
    splits: Sequence[str] = (),
) -> Shortcuts:
    """Try to tell a corpus's true captions from its false ones by trivial features of its audio.

    Args:
        most_samples: Groups are drawn until they hold about this many samples.
        splits: Those to learn from and to judge; all of them by default.
    """
    recipe, parts = draw_rows(corpus.folder / SAMPLES_FILE, _COLUMNS, splits, most_samples, seed)
    rows = [row for some in parts.values() for row in some]
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    sentences = SplitSentences.of(rows, numbers)
    claims = dict(_list_claims(rows))
    outlines = [ClaimOutline.of(claims[text], corpus.sample_rate) for text in numbers]
    features = [
        describe_audio(
            corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"]),
            corpus.sample_rate,
        )
        for row in track(rows, observer, "describe", "samples")
    ]
    uses = _list_uses(rows, read_recordings(corpus))
    figures: list[ShortcutFigure] = []
    for kind in track(sentences.kinds, observer, "trivial", "kinds"):
        rivals = sentences.of_kind(kind)
        with one_thread():
            fits, margins = judge_pairs(pair_up(rivals), np.stack(features), outlines, uses, seed)
        owners = np.repeat(np.arange(len(rivals)), [len(rival.false) for rival in rivals])
        for split in parts:
            here = np.array([rows[rival.sample]["split"] == split for rival in rivals])
            chosen = here[owners] & ~np.isin(owners, owners[np.isnan(margins)])
            kept = [rivals[owner] for owner in np.unique(owners[chosen])]
            if len({rival.group for rival in kept}) < FOLDS:
                continue
            judged = Sentences.of_rivals(pair_up(kept))
            right = (fits[chosen].ravel() > 0) == judged.false
            figures.append(measure_accuracy(split, kind, "fits", right, judged))
            figures += measure_choices(split, kind, margins[chosen], kept)
    if not figures:
        raise TooFewGroupsError(
            f"{corpus.folder}: the trivial test needs {FOLDS} groups or more, with true and false "
            "captions, of recordings of their own"
        )
    return Shortcuts(recipe, tuple(sorted(figures, key=lambda figure: figure.split)))


def _list_claims(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for row in rows:
        yield row["caption"], row["claim"]
        for sentence in (*row["positives"], *row["negatives"]):
            yield sentence["text"], sentence["claim"]


def read_recordings(corpus: Corpus) -> dict[str, str]:
    """The recording of each clip."""
    table = pq.read_table(corpus.folder / CLIPS_FILE, columns=["id", "recording"])
    pairs = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return {clip: recording or clip for clip, recording in pairs}


def _list_uses(
    rows: Sequence[Mapping[str, Any]], recordings: Mapping[str, str]
) -> Bool[np.ndarray, "groups recordings"]:
    """Which recordings the groups use, numbered as `SplitSentences` does."""
    used: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        clips = row["clips"] if row["negatives"] else ()
        used[row["group"]].update(recordings[clip] for clip in clips)
    columns = {name: at for at, name in enumerate(sorted(set().union(*used.values())))}
    uses = np.zeros((len(used), len(columns)), dtype=np.bool_)
    for at, names in enumerate(used.values()):
        uses[at, [columns[name] for name in names]] = True
    return uses


def judge_pairs(
    pairs: Sequence[RivalSet],
    features: Float[np.ndarray, "samples features"],
    outlines: Sequence[ClaimOutline],
    uses: Bool[np.ndarray, "groups recordings"],
    seed: int,
) -> tuple[Float[np.ndarray, "pairs 2"], Float[np.ndarray, " pairs"]]:
    """How false the sentences of samples look, each by itself, and two beside each other.

    Returns:
        Of the true and of the false sentence of each pair, above 0 if more false than true; how
        much falser the false one looks. NaN where a pair's sample was never judged.
    """
    sentences = Sentences.of_rivals(pairs)
    audio = features[[pair.sample for pair in pairs]]
    frequencies = Counter(outline.form for outline in outlines)
    forms = [form for form, _ in frequencies.most_common(_MOST_FORMS)]
    codes = {form: float(code) for code, form in enumerate(forms)}
    rows = [(codes.get(form, np.nan), orders, value) for orders, form, value in outlines]
    claims = np.array(rows)[sentences.texts].reshape(len(pairs), 2, -1)
    by_text = [[outlines[text] for text in (pair.true, *pair.false)] for pair in pairs]
    turned = np.array([true > false for true, false in by_text])
    tied = np.array([true == false for true, false in by_text])
    claims_in_order = np.where(turned[:, None, None], claims[:, ::-1], claims)
    alone = [_join(claims[:, at], audio) for at in (0, 1)]
    beside = np.hstack([_join(claims_in_order[:, at], audio) for at in (0, 1)])
    width = alone[0].shape[1]
    groups = np.array([pair.group for pair in pairs])
    fits, margins = np.zeros((len(pairs), 2)), np.zeros(len(pairs))
    counts, compared = np.zeros((2, len(pairs)))
    for number in range(_ROUNDS):
        rng = Randomness(seed).at("trivial/round", number)
        held = hold_out(uses, rng)
        apart = ~(uses & held).any(axis=1)[groups] & ~tied
        within = ~(uses & ~held).any(axis=1)[groups]
        if not within.any() or not apart.any():
            continue
        # Of whole pairs neither form nor audio tells anything by itself, and no tree would grow:
        # weights make one sentence of each count for more than the other.
        weights = rng.exponential(size=(2, apart.sum()))
        both = np.concatenate([sentence[apart] for sentence in alone])
        decide = _fit(both, np.arange(len(both)) >= apart.sum(), weights.ravel(), [0], seed)
        counts[within] += 1
        fits[within] += np.stack([decide(sentence[within]) for sentence in alone], axis=1)
        if len(set(turned[apart].tolist())) == 2:
            compared[within] += 1
            decide = _fit(beside[apart], turned[apart], None, [0, width], seed)
            margins[within] += decide(beside[within]) * np.where(turned[within], 1, -1)
    with np.errstate(invalid="ignore"):
        fits, margins = fits / counts[:, None], margins / compared
    fits[tied] = margins[tied] = 0  # by construction, whatever is learned
    return fits, margins


def _join(
    claims: Float[np.ndarray, "pairs outline"], audio: Float[np.ndarray, "pairs features"]
) -> Float[np.ndarray, "pairs inputs"]:
    """What a sentence says, and the audio, also relative to what it measures."""
    return np.hstack([claims, audio, audio[:, :_COMPARABLE] - claims[:, -1:]])


def hold_out(
    uses: Bool[np.ndarray, "groups recordings"], rng: np.random.Generator
) -> Bool[np.ndarray, " recordings"]:
    """All recordings of some groups, so that these can be judged."""
    held = np.zeros(uses.shape[1], dtype=np.bool_)
    for group in rng.permutation(len(uses)):
        more = held | uses[group]
        if more.mean() > _HELD_OUT:
            break
        held = more
    return held


def _fit(
    inputs: Float[np.ndarray, "sentences inputs"],
    labels: Bool[np.ndarray, " sentences"],
    weights: Float[np.ndarray, " sentences"] | None,
    categorical: Sequence[int],
    seed: int,
) -> Callable[[np.ndarray], np.ndarray]:
    """How much more a label looks true than false, by what was learned."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=60,
        max_leaf_nodes=15,
        min_samples_leaf=10,
        l2_regularization=1.0,
        categorical_features=categorical,
        early_stopping=False,
        random_state=seed % 2**32,
    )
    model.fit(inputs, labels, sample_weight=weights)
    decide: Callable[[np.ndarray], np.ndarray] = model.decision_function
    return decide
