"""What would starve or hang a rank, and which single change fixes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil
from typing import TypeAlias

from pipelines.checks.preflight.splits import PlannedSplit
from pipelines.checks.preflight.training import LoaderKind, Training
from synth.base.atomic import format_count
from synth.base.errors import PlanError

Change: TypeAlias = tuple[str, Training]
"""What a user can change, in words, and the run that it makes."""

_MOST_SHARDS_A_WORKER = 8
_MOST_SHARD = 100_000


def refuse_unfit(splits: Sequence[PlannedSplit], training: Training) -> None:
    """Check that every rank has work for every step, in every split and loader."""
    found = find_faults(splits, training)
    if found:
        more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
        raise PlanError(found[0] + more, fix=describe_fixes(splits, training))


def find_faults(splits: Sequence[PlannedSplit], training: Training) -> list[str]:
    """What is wrong, for each split and loader; nothing where all is well."""
    judges = {
        LoaderKind.TRAINER: _judge_trainer,
        LoaderKind.BOUNDED: _judge_bounded,
    }
    found = [
        finding
        for split in splits
        for loader in training.loaders
        for finding in judges[loader](split, training)
    ]
    return list(dict.fromkeys(found))


def _judge_trainer(split: PlannedSplit, training: Training) -> Iterator[str]:
    units = split.groups if training.keep_groups else (1,)
    what = "groups" if training.keep_groups else "samples"
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
    elif (held := share.units) < training.gpus:
        yield (
            f"split {split.name}: a batch of {training.batch} holds {held} {what} of up to "
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
    found: list[str] = []
    samples = find_best_shards(splits, training)
    if samples is not None:
        repacked = [split.repack(samples) for split in splits]
        found.append(
            f"shards: {{samples: {samples}}} in the spec" + _format_loss(repacked, training)
        )
    for changes in (
        _try_fewer_workers(training),
        _try_other_batches(splits, training),
        _try_other_loaders(training),
    ):
        fitting = (
            words + _format_loss(splits, changed)
            for words, changed in changes
            if not find_faults(splits, changed)
        )
        found += islice(fitting, 1)
    fewest = min(split.samples for split in splits)
    return "; or ".join(found) or f"a larger corpus, or fewer GPUs with --batch {fewest} or less"


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
        score = (
            round(max(compute_unseen_percent(split, training) for split in repacked), 1),
            -samples,
        )
        best = score if best is None else min(best, score)
    return None if best is None else -best[1]


def compute_unseen_percent(split: PlannedSplit, training: Training) -> float:
    """Percent of a split that an epoch over its dealt shards leaves out."""
    return 100 * split.deal(training).unseen / split.samples


def _format_loss(splits: Sequence[PlannedSplit], training: Training) -> str:
    """What dealt shards leave out, in brackets."""
    if not training.deals:
        return ""
    most = max(compute_unseen_percent(split, training) for split in splits)
    return f" ({most:.1f} % of it unseen in an epoch)"


def _try_fewer_workers(training: Training) -> Iterator[Change]:
    for workers in range(training.workers - 1, 0, -1):
        yield f"--workers {workers}", replace(training, workers=workers)


def _try_other_batches(splits: Sequence[PlannedSplit], training: Training) -> Iterator[Change]:
    gpus = training.gpus
    least = min(split.deal(training).poorest[1] for split in splits)
    fewest = min(split.samples for split in splits) // gpus
    largest = max(max(split.groups) for split in splits)
    for each in dict.fromkeys((min(least, fewest), fewest, largest)):
        if each and each != training.rank_batch:
            yield f"--batch {each * gpus}", replace(training, batch=each * gpus)


def _try_other_loaders(training: Training) -> Iterator[Change]:
    if training.keep_groups and LoaderKind.TRAINER in training.loaders:
        words = "--no-keep-groups (keep_groups: false)"
        yield words, replace(training, keep_groups=False)
    if training.deals:
        words = "`segue train`, which deals no shards (--loader trainer)"
        yield words, replace(training, loaders=(LoaderKind.TRAINER,))
