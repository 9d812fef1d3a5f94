"""Whose version is this? It belongs to the first spec that writes it.

`claim.json` names the owner until `corpus.json` does. It is written before anything else of a
version. Another spec may take over only what holds a plan and nothing rendered; then the files of
the old plan go first, what certifies them before all others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pipelines.config.spec import PLAN_VERSION, Spec
from pipelines.ingest.parts import INGEST_VERSION
from pipelines.store.places import Places
from synth.audio.render import RENDER_VERSION
from synth.base.atomic import write_text
from synth.base.doors import read_json
from synth.base.errors import CorpusError
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, PLAN_FILE, QUARANTINE_FILE, SAMPLES_FILE
from synth.corpus.facts import read_facts
from synth.corpus.receipt import RECEIPT_FILE, VersionReceipt
from synth.corpus.schema import FORMAT_VERSION
from synth.labels.lexicon import words_digest
from synth.sources import drop_places

CLAIM_FILE: Final = "claim.json"
SHARDS_FILE: Final = "shards.parquet"
BUILD_DIGEST: Final = "build_digest"
PLAN_FILES: Final = (SHARDS_FILE, PLAN_FILE, QUARANTINE_FILE, CLIPS_FILE)
"""The tables of a plan, which the receipt certifies."""


def claim_version(places: Places, digest: str) -> None:
    """Make the version that of a build; for the version's sole writer, before it writes."""
    if read_finished(places, digest) is not None:
        return
    owner = _read_owner(places)
    if owner == digest:
        return
    if owner is not None and _holds_shards(places):
        raise CorpusError(
            f"{places.format_path(places.manifests)}: version {places.version!r} was "
            "started with another spec or other clips, and is not finished",
            fix="give the spec another `version`, finish this one with its own spec, or delete "
            f"{places.format_path(places.manifests)} and {places.format_path(places.shards)}",
        )
    if owner is not None:
        remove_files(places, [RECEIPT_FILE, *PLAN_FILES])
    path = places.manifests / CLAIM_FILE
    write_text(path, json.dumps({"digest": digest}) + "\n")
    places.store.put(path)


def drop_claim(places: Places) -> None:
    """Remove the claim of a finished version, whose `corpus.json` names its owner."""
    if (places.manifests / CLAIM_FILE).is_file():
        remove_files(places, [CLAIM_FILE])


def read_finished(places: Places, digest: str) -> dict[str, Any] | None:
    """What `corpus.json` says, if this very build has been finalised."""
    path = places.manifests / CORPUS_FILE
    if not (path.is_file() and (places.manifests / SAMPLES_FILE).is_file()):
        return None
    facts = read_facts(path)
    refuse_other_build(places, facts["digest"], digest)
    return facts


def refuse_other_build(places: Places, owner: str, digest: str) -> None:
    """Check that a finished version is that of a build."""
    if owner != digest:
        raise CorpusError(
            f"{places.manifests / CORPUS_FILE}: version {places.version!r} was built from another "
            "spec or other clips",
            fix="a finished version never changes: give the spec another `version`, or none",
        )


def _read_owner(places: Places) -> str | None:
    """The digest of the build that the version belongs to; None where nobody has claimed it."""
    path = places.manifests / CLAIM_FILE
    fix = f"delete {places.format_path(places.manifests)} and build again"
    if not path.exists():
        receipt = VersionReceipt.read(places.manifests)
        return None if receipt is None else receipt.digest
    match read_json(path, fix=fix):
        case {"digest": str(digest)}:
            return digest
    raise CorpusError(f"{path}: damaged: lacks the digest of a build", fix=fix)


def _holds_shards(places: Places) -> bool:
    """Whether anything of the version has been rendered, here or at the store."""
    return (
        any(path.suffix == ".tar" for path in places.store.list_files(places.shards))
        or any(places.shards.glob("*/*.tar"))
        or any(places.receipts.glob("*.json"))
    )


def remove_files(places: Places, names: Iterable[str]) -> None:
    """Delete files of a version's manifests in this order, at the store first."""
    for path in (places.manifests / name for name in names):
        if path.is_dir():
            raise CorpusError(f"{path}: is a folder: expected a file", fix="remove it")
        places.store.remove([path])


# The versions of Segue's algorithms: what makes a corpus beside spec, clips and libraries.


def algorithm_versions() -> dict[str, int | str]:
    """By name; `words` is the digest of the word lists that ship."""
    return {
        "ingest": INGEST_VERSION,
        "plan": PLAN_VERSION,
        "render": RENDER_VERSION,
        "format": FORMAT_VERSION,
        "words": words_digest(),
    }


# The settings of a spec, one by one, without those that say where files lie.


LISTS: Final = ("enrich", "block")
"""Settings that list files; the names of the files count, not their folders."""


def flat_settings(spec: Spec) -> dict[str, Any]:
    """Settings by dotted key, as JSON values."""
    values = spec.model_dump(mode="json", exclude_none=True, exclude={"version"})
    values["source"] = {name: drop_places(settings) for name, settings in values["source"].items()}
    for key in LISTS:
        values[key] = [Path(path).name for path in values[key]]
    return dict(_leaves("", values))


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else key, inner)
    else:
        yield prefix, value
