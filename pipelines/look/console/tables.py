"""The tables of the SQL console: what each holds, and what each of its columns means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pipelines.builder.claim import SHARDS_FILE
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE, SAMPLES_FILE


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table.

    Args:
        columns: What each column means, in their order.
        file: The manifest that it is, or "".
        query: What it is a view of, or "".
    """

    name: str
    about: str
    columns: Mapping[str, str]
    file: str = ""
    query: str = ""


_PLANNED: Final = {
    "id": "Key of the sample in its shard.",
    "index": "Position in the plan, from 0.",
    "group": "Minimal-pair group: samples of the same clips in different compositions.",
    "split": "train, val or test.",
    "shard": "File name of the shard that holds it.",
    "recipe": "Recipe that made it.",
    "relation": "Connective of the main caption, such as before or while; empty if it has "
    "none. It does not say which sound comes first.",
    "caption": "The main caption, proven true.",
    "claim": "What the main caption states, as a scene over labels.",
    "generator": "Rule, source or language model that wrote the main caption.",
    "positives": "Further captions, each proven true: text, claim, kind, connective, generator.",
    "negatives": "Captions, each proven false: kind is the edit that made it false, against is "
    "the true text it is compared with.",
    "labels": "Labels of the sounds, in scene order.",
    "clips": "Ids of the clips heard, in scene order.",
    "notation": "The scene in the papers' notation: + is then, * is with.",
    "scene": "The scene as JSON, from which the audio can be rendered again.",
    "activity": "When each sound is heard, in scene order and in frames: clear (to everybody), "
    "faint, or likely (to most people: strong labels). `onsets` is the highest number of times "
    "that anybody may say it begins, -1 if unknown. `acoustics`, in corpora of `attributes`, has "
    "A-weighted levels in dBFS (average, loudest, by thirds), loudness in LUFS, the recording and "
    "its treatment.",
    "dense": "Captions with times, in frames: `stretch` for every stretch in which a sound is "
    "heard, `sound` for every sound from its first frame to its last, `scene` for every change of "
    "what is heard. Empty where sounds have no labels.",
    "lead": "Silence before the scene, in frames.",
    "frames": "Exact length of the audio, in frames at sample_rate.",
    "excerpts": "Number of sounds that are heard only in part.",
    "sample_rate": "In Hz.",
}
_MEASURED: Final = {
    "member": "File name of the audio in the shard.",
    "offset": "Where the audio begins in the shard, in bytes.",
    "size": "Size of the encoded audio, in bytes.",
    "sha256": "SHA-256 of the encoded audio.",
    "gain_db": "Gain applied to the whole mix to keep it below the peak level, in dB.",
    "peak_db": "Highest level of the audio, in dBFS.",
}
_SAMPLE: Final = "Id of the sample."
_WHEN: Final = "in frames at the corpus's rate"

TABLES: Final = (
    TableDescription(
        "samples",
        "A sample, planned and rendered. The table exists once a build has ended.",
        {**_PLANNED, **_MEASURED},
        file=SAMPLES_FILE,
    ),
    TableDescription(
        "plan", "A sample as planned, before any audio is made.", _PLANNED, file=PLAN_FILE
    ),
    TableDescription(
        "clips",
        "A clip of the sound library that ingest admitted.",
        {
            "id": "Id of the clip.",
            "source": "Sound library.",
            "location": "Path in the library, or how it is made.",
            "labels": "The sounds in it.",
            "captions": "The library's own captions.",
            "tags": "Tags by category.",
            "split": "Split of the corpus; empty if it is in none.",
            "source_split": "The library's own split or fold.",
            "recording": "Recording it was cut from; a recording is never in two splits.",
            "licence": "SPDX id, or what the library says; empty if it says nothing.",
            "attribution": "Whom to credit.",
            "sample_rate": "Of the file, in Hz.",
            "channels": "Of the file.",
            "frames": "Length of the file, in frames at its own rate.",
            "onset": "First frame of the active span, at the file's rate.",
            "offset": "First frame after the active span, at the file's rate.",
            "loudness_lufs": "Loudness of the active span at the corpus's rate, in LUFS.",
            "peak_db": "True peak of the active span at the corpus rate, in dBTP.",
            "levels_db": "RMS level of each 50 ms of the active span, at the corpus's rate, in "
            "dBFS.",
            "levels_dba": "The same, A-weighted.",
            "attacks": "How often the clip may be said to begin, in each 50 ms block.",
            "segments": "Where the clip is audible: onset and offset, at the file's rate.",
            "sha256": "SHA-256 of the file.",
            "fingerprint": "Identifies the sound in other encodings.",
        },
        file=CLIPS_FILE,
    ),
    TableDescription(
        "quarantine",
        "A clip that could not be used; clips that only the recipe refused are also in clips.",
        {
            "id": "Id of the clip.",
            "location": "Path in the library.",
            "stage": "What refused it: source, ingest, licence, block, split, or a recipe.",
            "reason": "Why it was refused.",
        },
        file=QUARANTINE_FILE,
    ),
    TableDescription(
        "shards",
        "A shard, as planned.",
        {
            "shard": "File name.",
            "split": "Split, which is also its folder.",
            "samples": "Number of samples it holds.",
            "row_group": "Row group of plan.parquet that its samples are in.",
            "digest": "Digest of what determines its bytes: rows, clips' content, settings.",
            "row": "Its first row in the row group.",
        },
        file=SHARDS_FILE,
    ),
    TableDescription(
        "receipts",
        "A finished shard, and what certifies it.",
        {
            "shard": "File name.",
            "digest": "Digest of the planned shard when it was rendered.",
            "bytes": "Size of the file.",
            "sha256": "SHA-256 of the file.",
            "libraries": "Versions of the libraries that made it, by name.",
        },
        query="SELECT r.* FROM (SELECT unnest(receipts_of(shard)) AS r FROM shards)",
    ),
    TableDescription(
        "events",
        "A sound of a sample, in time.",
        {
            "sample": _SAMPLE,
            "split": "Split of the sample.",
            "place": "Place in the notation, left to right, from 1; not the order in time.",
            "label": "Label of the sound.",
            "clip": "Id of the clip it comes from.",
            "onset": f"When it begins, {_WHEN}.",
            "offset": f"When it ends, {_WHEN}.",
            "onset_s": "When it begins, in seconds; the sound with the lowest value comes first.",
            "offset_s": "When it ends, in seconds.",
            "start": f"Where in the clip's active span the excerpt starts, {_WHEN}.",
            "gain_db": "Gain applied to the clip, in dB.",
        },
        query="""
            SELECT id AS sample, split, e.place, e.label, e.clip,
                lead + e.onset AS onset, lead + e."offset" AS "offset",
                (lead + e.onset) / sample_rate AS onset_s,
                (lead + e."offset") / sample_rate AS offset_s, e.start, e.gain_db
            FROM (
                SELECT id, split, sample_rate, coalesce(lead, 0) AS lead,
                    unnest(events_of(scene)) AS e
                FROM plan
            )
        """,
    ),
    TableDescription(
        "captions",
        "A sentence about a sample, true or false.",
        {
            "sample": _SAMPLE,
            "split": "Split of the sample.",
            "role": "main, positive (true as well) or negative (false).",
            "place": "Place among those of its role, from 1.",
            "text": "The sentence.",
            "claim": "What it states, as a scene over labels.",
            "kind": "caption for the main one, otherwise restatement, or the edit that made it.",
            "connective": "Such as before or while; empty if it has none.",
            "generator": "Rule, source or language model that wrote it.",
            "against": "The true text a false one is compared with; empty for any.",
        },
        query="""
            SELECT id AS sample, split, 'main' AS role, 1::BIGINT AS place, caption AS text,
                claim, 'caption' AS kind, relation AS connective, generator, '' AS against
            FROM plan
            UNION ALL BY NAME
            SELECT sample, split, role, place, c.* FROM (
                SELECT id AS sample, split, 'positive' AS role,
                    generate_subscripts(positives, 1) AS place, unnest(positives) AS c FROM plan
            )
            UNION ALL BY NAME
            SELECT sample, split, role, place, c.* FROM (
                SELECT id AS sample, split, 'negative' AS role,
                    generate_subscripts(negatives, 1) AS place, unnest(negatives) AS c FROM plan
            )
        """,
    ),
    TableDescription(
        "clip_labels",
        "A label of a clip.",
        {"clip": "Id of the clip.", "label": "One of its labels."},
        query="SELECT id AS clip, unnest(labels) AS label FROM clips",
    ),
    TableDescription(
        "clip_tags",
        "A tag of a clip.",
        {
            "clip": "Id of the clip.",
            "category": "Such as genre or mood; empty if the library has none.",
            "name": "The tag.",
        },
        query="SELECT clip, t.category, t.name "
        "FROM (SELECT id AS clip, unnest(tags) AS t FROM clips)",
    ),
)
