"""Frozen test sets: what `segue bench build` makes, and the digests that prove it.

A set is one YAML file, its description: a spec without a source, and what is asked of the samples.
Over each source it has one published digest. `make` builds a set and compares it with that digest.
"""

from pathlib import Path

ROOT = Path("out/bench")
"""Where sets are built unless another folder is given."""
