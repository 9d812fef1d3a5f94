"""What would starve or hang a rank, and which single change fixes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil

from pipelines.checks.preflight.splits import PlannedSplit
from pipelines.checks.preflight.training import LoaderKind, Training
from synth.base.atomic import format_count
from synth.base.errors import PlanError

_MOST_SHARDS_A_WORKER = 8
_MOST_SHARD = 100_000


def refuse_unfit(splits: Sequence[PlannedSplit], training: Training) -> None:
    """Check that every rank has work for every step, in every split and loader."""
    faults = find_faults(splits, training)
    if faults:
        more = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise PlanError(faults[0] + more, fix=describe_fixes(splits, training))


def find_faults(splits: Sequence[PlannedSplit], training: Training) -> list[str]:
    """What is wrong, for each split and loader; nothing where all is well."""
    judges = {
        LoaderKind.TRAINER: _judge_trainer,
        LoaderKind.BOUNDED: _judge_bounded,
    }
    faults = [
        finding
        for split in splits
        for loader in training.loaders
        for finding in judges[loader](split, training)
    ]
    return list(dict.fromkeys(faults))


def _judge_trainer(split: PlannedSplit, training: Training) -> Iterator[str]:
    units = split.groups if training.keep_groups else (1,)
    unit = "groups" if training.keep_groups else "samples"
    if training.batch > split.samples:
        yield f"split {split.name}: {split.samples} samples do not fill a batch of {training.batch}"
    elif max(units) > training.batch:
        yield (
            f"split {split.name}: a group of {max(units)} samples does not fit a batch of "
            f"{training.batch}"
        )
    elif (share := split.share(training)).is_alone:
        yield (
            f"split {split.name}: a group of 1 sample would be alone in a batch of "
            f"{training.batch}, as the others fill theirs"
        )
    elif (count := share.units) < training.gpus:
        yield (
            f"split {split.name}: a batch of {training.batch} holds {count} {unit} of up to "
            f"{max(units)} samples, too few for {training.gpus} ranks of `segue train`"
        )


def _judge_bounded(split: PlannedSplit, training: Training) -> Iterator[str]:
    shards, places = len(split.shards), training.places
    if shards < places:
        yield (
            f"split {split.name} has {format_count(shards, 'shard')} for {training.gpus} ranks x "
            f"{training.readers} loader workers = {places}: {places - shards} of these would get "
            "none, and the other ranks would hang"
        )
        return
    count, samples = split.deal(training).poorest
    if samples < training.rank_batch:
        yield (
            f"split {split.name}: a loader worker may get {format_count(samples, 'sample')} (in "
            f"{count} of {shards} shards), a rank's part of a batch is {training.rank_batch}: it "
            "would make no batch, and the other ranks would hang"
        )


def describe_fixes(splits: Sequence[PlannedSplit], training: Training) -> str:
    """Changes of which each by itself makes the plan fit, as the user writes them."""
    samples = find_best_shards(splits, training)
    fixes = [] if samples is None else [f"shards: {{samples: {samples}}} in the spec"]
    for changes in _list_changes(splits, training):
        fixes += islice((words for words, run in changes if not find_faults(splits, run)), 1)
    fewest = min(split.samples for split in splits)
    return "; or ".join(fixes) or f"a larger corpus, or fewer GPUs with --batch {fewest} or less"


def _list_changes(
    splits: Sequence[PlannedSplit], training: Training
) -> Iterator[Iterable[tuple[str, Training]]]:
    """What a user can change, in words, and the run that it makes: some of each kind."""
    workers = range(training.workers - 1, 0, -1)
    yield ((f"--workers {count}", replace(training, workers=count)) for count in workers)
    least = min(split.deal(training).poorest[1] for split in splits)
    fewest = min(split.samples for split in splits) // training.gpus
    largest = max(max(split.groups) for split in splits)
    batches = dict.fromkeys(
        count * training.gpus for count in (min(least, fewest), fewest, largest) if count
    )
    yield (
        (f"--batch {batch}", replace(training, batch=batch))
        for batch in batches
        if batch != training.batch
    )
    if training.keep_groups and LoaderKind.TRAINER in training.loaders:
        yield [("--no-keep-groups (keep_groups: false)", replace(training, keep_groups=False))]
    if training.deals:
        words = "`segue train`, which deals no shards (--loader trainer)"
        yield [(words, replace(training, loaders=(LoaderKind.TRAINER,)))]


def find_best_shards(splits: Sequence[PlannedSplit], training: Training) -> int | None:
    """The `shards.samples` with which the plan fits and an epoch leaves out least.

    Those that give every loader worker the same number of shards are tried; of equals the largest
    is taken. None where none fits.
    """
    if not training.deals:
        return None
    best: tuple[float, int] | None = None
    sizes = {
        ceil(split.samples / (shards * training.places)) + over
        for split in splits
        for shards in range(1, _MOST_SHARDS_A_WORKER + 1)
        for over in range(max(split.groups) + 1)
    }
    for samples in sorted(size for size in sizes if size <= _MOST_SHARD):
        repacked = [split.repack(samples) for split in splits]
        if find_faults(repacked, training):
            continue
        unseen = max(compute_unseen_percent(split, training) for split in repacked)
        score = round(unseen, 1), -samples
        best = score if best is None else min(best, score)
    return None if best is None else -best[1]


def compute_unseen_percent(split: PlannedSplit, training: Training) -> float:
    """Percent of a split that an epoch over its dealt shards leaves out."""
    return 100 * split.deal(training).unseen / split.samples
