"""The joins that find what differs; they work on hashes, so that long texts need not be kept."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from synth.corpus.schema import INCIDENTAL

SCENE: Final = "scene"
AUDIO: Final = "audio"
PARTS: Final = {
    SCENE: "hash(scene)",
    "caption": "hash(caption, claim, generator, relation)",
    "positives": "hash(positives)",
    "negatives": "hash(negatives)",
    "length": "hash(frames, sample_rate)",
    "place": """hash(split, "group", {shard})""",
}
"""What a sample consists of."""

MOVE: Final = """
    concat('split ', coalesce(nullif(a.split, ''), 'none'), ' -> ',
        coalesce(nullif(b.split, ''), 'none'))
"""
"""From which split a clip went to which."""


def build_clip_changes(shared: Collection[str]) -> str:
    """One row a clip that differs: its id, what became of it, and why.

    Args:
        shared: Columns that both catalogues have.
    """
    told = {name: f"'{name}'" for name in sorted(set(shared) - INCIDENTAL - {"id", "sha256"})}
    told |= {"split": MOVE}
    others = ", ".join(
        f"""CASE WHEN a."{name}" IS DISTINCT FROM b."{name}" THEN {said} END"""
        for name, said in told.items()
    )
    return f"""
        CREATE TEMP TABLE clip_changes AS
        WITH {_build_clip_states("a")}, {_build_clip_states("b")}, joined AS (
            SELECT id, a.admitted AS in_a, b.admitted AS in_b, a.refusal AS ours,
                b.refusal AS theirs, a.split <> b.split AS moved,
                CASE WHEN a.sha256 IS DISTINCT FROM b.sha256 THEN 'the file'
                    ELSE array_to_string(list_value({others}), ', ') END AS why
            FROM a_state a FULL JOIN b_state b USING (id)
        )
        SELECT id,
            CASE WHEN in_a AND in_b THEN 'changed' WHEN in_b THEN 'admitted'
                WHEN in_a THEN 'lost' ELSE 'refused' END AS change,
            moved,
            CASE WHEN in_a AND in_b THEN why
                WHEN in_b THEN coalesce('was refused: ' || ours, 'is new')
                WHEN in_a THEN coalesce('is refused: ' || theirs, 'is gone')
                WHEN in_a IS NULL THEN 'is new, and refused: ' || theirs
                WHEN in_b IS NULL THEN 'is gone, and was refused: ' || ours
                ELSE 'is refused: ' || theirs || ', was: ' || ours END AS why
        FROM joined
        WHERE CASE WHEN in_a AND in_b THEN why <> ''
            ELSE in_a OR in_b OR ours IS DISTINCT FROM theirs END
    """


def _build_clip_states(side: str) -> str:
    """Every clip of a side, with the reason where it was refused."""
    return f"""
        {side}_refused AS (
            SELECT id, min(stage || ': it ' || reason) AS refusal
            FROM {side}_quarantine GROUP BY id
        ),
        {side}_state AS (
            SELECT coalesce(c.id, q.id) AS id, q.id IS NULL AS admitted, q.refusal,
                c.* EXCLUDE (id)
            FROM {side}_clips c FULL JOIN {side}_refused q ON q.id = c.id
        )
    """


def build_keyed_view(side: str, corpus: str, audible: bool) -> str:
    """The samples of a side with the hashes of their parts, by their id without the corpus's name.

    Args:
        side: `a` or `b`.
        audible: Whether to compare the audio, too.
    """
    parts = PARTS | {"place": PARTS["place"].format(shard=_strip_corpus(corpus, "shard"))}
    if audible:
        parts[AUDIO] = "hash(sha256)"
    hashes = ", ".join(f"{part} AS {name}_hash" for name, part in parts.items())
    return f"""
        CREATE TEMP VIEW {side}_keyed AS
        SELECT {_strip_corpus(corpus, "id")} AS key, id, clips, {hashes} FROM {side}_samples
    """


def build_sample_changes(audible: bool) -> str:
    """One row a sample that differs: its key, its id, what became of it, and in which parts."""
    names = [*PARTS, AUDIO] if audible else list(PARTS)
    parts = ", ".join(
        f"CASE WHEN a.{name}_hash IS DISTINCT FROM b.{name}_hash THEN '{name}' END"
        for name in names
    )
    return f"""
        CREATE TEMP TABLE sample_changes AS
        SELECT key, coalesce(b.id, a.id) AS id,
            CASE WHEN a.id IS NULL THEN 'added' WHEN b.id IS NULL THEN 'removed'
                ELSE 'changed' END AS change,
            CASE WHEN a.id IS NULL OR b.id IS NULL THEN []
                ELSE list_filter(list_value({parts}), lambda part: part IS NOT NULL) END AS parts
        FROM (SELECT * EXCLUDE (clips) FROM a_keyed) a
        FULL JOIN (SELECT * EXCLUDE (clips) FROM b_keyed) b USING (key)
        WHERE a.id IS NULL OR b.id IS NULL OR len(parts) > 0
    """


HEAR_A_MOVED_CLIP: Final = """
    SELECT count(DISTINCT key) FROM (SELECT key, unnest(clips) AS clip FROM b_keyed)
    WHERE clip IN (SELECT id FROM clip_changes WHERE change = 'changed' AND moved)
"""

HEAR_A_CHANGED_CLIP: Final = """
    SELECT count(DISTINCT heard.key)
    FROM (
        SELECT key, unnest(clips) AS clip FROM a_keyed
        UNION ALL SELECT key, unnest(clips) AS clip FROM b_keyed
    ) heard
    WHERE heard.clip IN (SELECT id FROM clip_changes)
        AND heard.key IN (SELECT key FROM sample_changes WHERE change = 'changed')
"""


def build_shard_changes(a: str, b: str) -> str:
    """One row a shard that differs: its key, its name, and what became of it."""
    return f"""
        CREATE TEMP TABLE shard_changes AS
        SELECT coalesce(b.shard, a.shard) AS id,
            CASE WHEN a.shard IS NULL THEN 'added' WHEN b.shard IS NULL THEN 'removed'
                ELSE 'changed' END AS change
        FROM (SELECT {_strip_corpus(a, "shard")} AS key, shard, digest FROM a_shards) a
        FULL JOIN (SELECT {_strip_corpus(b, "shard")} AS key, shard, digest FROM b_shards) b
            USING (key)
        WHERE a.digest IS DISTINCT FROM b.digest
    """


def _strip_corpus(corpus: str, column: str) -> str:
    """A name without that of its corpus in front."""
    head = f"{corpus}-".replace("'", "''")
    return f"CASE WHEN starts_with({column}, '{head}') THEN {column}[{len(corpus) + 2}:] " + (
        f"ELSE {column} END"
    )
