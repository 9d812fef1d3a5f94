"""Metrics: pure functions of similarities, each with its chance level and a bootstrap interval.

Conventions, for all metrics:

- Similarities are finite floats of any scale; larger means closer. Rows are units (queries, samples
  or groups), columns what is chosen from. What does not fit is a `ValueError`.
- A tie never helps. In a choice of one or two among several, ties are broken at random and the
  value is what that gives on average, so that a model to which all is alike scores chance. In a
  ranking, a wrong item that ties with a right one stands before it. CompA's scores are strict: a
  tie is a failure, as the paper prints it.
- Without anything to judge, value and interval are NaN and n is 0.
- Chance is what similarities drawn at random (continuous, independent) give on average; for a
  median rank it is the median over random rankings.
- Intervals are 95 % percentile bootstraps, seeded: equal input, equal output. What is drawn anew is
  whole groups of units, where units share clips and so are not independent: `groups` numbers them,
  and without it each unit stands alone. `seed` is that of the draws.
"""

from train.bench.metrics.choice import (
    bat,
    block_scores,
    choose_one,
    choose_two,
    compa,
    pair_accuracy,
    triplet_accuracy,
)
from train.bench.metrics.measure import RESAMPLES, Metric
from train.bench.metrics.retrieval import (
    class_embeddings,
    mean_average_precision,
    retrieval,
    subset_retrieval,
)

__all__ = [
    "RESAMPLES",
    "Metric",
    "bat",
    "block_scores",
    "choose_one",
    "choose_two",
    "class_embeddings",
    "compa",
    "mean_average_precision",
    "pair_accuracy",
    "retrieval",
    "subset_retrieval",
    "triplet_accuracy",
]
