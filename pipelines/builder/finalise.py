"""Finalise: when every shard has its receipt, the corpus gets its manifest, card and name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from os.path import relpath
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from pipelines.builder.claim import BUILD_DIGEST, PLAN_FILES, algorithm_versions
from pipelines.builder.documents import (
    CROISSANT_FILE,
    croissant,
    dataset_card,
    licence_facts,
    used_clips,
    write_attribution,
    write_index,
    write_meta,
)
from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import is_done, read_receipt, read_rights
from pipelines.config.spec import Spec
from pipelines.ingest.ingest import IngestedLibrary
from pipelines.store.places import Places
from pipelines.store.row_file import read_batches, read_columns
from pipelines.store.store import link
from synth.base.atomic import write_text
from synth.base.doors import read_json
from synth.base.errors import CorpusError
from synth.base.hashing import FileHash, file_sha256
from synth.corpus.corpus import (
    ATTRIBUTION_FILE,
    CLIPS_FILE,
    CORPUS_FILE,
    LATEST_FILE,
    PLAN_FILE,
    SAMPLES_FILE,
)
from synth.corpus.receipt import DIFFERS, VersionReceipt, replacing_certified
from synth.corpus.schema import FORMAT_VERSION, MEASUREMENTS, SAMPLES
from synth.corpus.validation import check_columns, explain_damage
from synth.sources import innermost
from synth.sources.reading.base import find_origin

SPEC_FILE = "spec.yaml"
SIZES_FILE = "sizes.json"
CARD_FILE = "README.md"


def finalise(
    spec: Spec,
    library: IngestedLibrary,
    places: Places,
    shards: Sequence[ShardPlan],
    finished: VersionReceipt | None = None,
) -> dict[str, Any]:
    """Join plan and measurements, write sizes, card, the receipt of all and, last, `corpus.json`.

    Args:
        finished: The receipt of a finished version, which what is made again must match.

    Returns:
        What `corpus.json` says.
    """
    places.store.list_files(places.shards)  # workers may have put some
    missing = [shard.shard for shard in shards if not is_done(places, shard)]
    if missing:
        raise CorpusError(
            f"{len(missing)} of {len(shards)} shards are not rendered, starting with {missing[0]}",
            fix="run `segue build` again",
        )
    facts = assemble(spec, library, places, shards, finished)
    text = json.dumps(facts, indent=2) + "\n"
    digest = spec.build_digest(library.digest)
    if finished is not None:
        for name, fault in finished.find_faults(finished.files.keys() - {CORPUS_FILE}).items():
            raise CorpusError(
                f"{finished.folder / name}: {fault}, and cannot be made again as it was: {DIFFERS}",
                fix="restore it from a copy, or give the spec another `version`",
            )
    else:
        _certify(places, shards, digest, text)
    # Every file of the version but the shards and what certifies the whole.
    files = sorted([*places.manifests.rglob("*"), *places.shards.rglob("*")])
    places.store.put_changed(
        path
        for path in files
        if path.is_file() and path.suffix != ".tar" and path.name != CORPUS_FILE
    )
    with replacing_certified(places.manifests / CORPUS_FILE, finished) as partial:
        partial.write_text(text, encoding="utf-8")
    places.store.put(places.manifests / CORPUS_FILE)
    return facts


def _certify(places: Places, shards: Sequence[ShardPlan], digest: str, facts: str) -> None:
    """Write the receipt of all manifests, with that of `corpus.json`, which is still to come."""
    names = [*PLAN_FILES, SAMPLES_FILE, SPEC_FILE, ATTRIBUTION_FILE]
    for shard in shards:
        paths = places.receipt_path(shard.shard), places.measurements_path(shard.shard)
        names += [path.relative_to(places.manifests).as_posix() for path in paths]
    files = {name: FileHash.of(places.manifests / name) for name in names}
    receipt = VersionReceipt(
        places.manifests, digest, files | {CORPUS_FILE: FileHash.of_text(facts)}
    )
    receipt.write()


def assemble(
    spec: Spec,
    library: IngestedLibrary,
    places: Places,
    shards: Sequence[ShardPlan],
    finished: VersionReceipt | None = None,
) -> dict[str, Any]:
    """Write everything but `corpus.json`, from the plan, the measurements and the receipts.

    The arguments are those of `finalise`.

    Returns:
        What `corpus.json` is to say.
    """
    _write_samples(places, shards, finished, spec.audio.stems)
    link(places.manifests / SAMPLES_FILE, places.shards / SAMPLES_FILE)
    # Samples by shard, in the form that LAION-CLAP's and open_clip's loaders read.
    for split in dict.fromkeys(shard.split for shard in shards):
        sizes = {shard.shard: shard.samples for shard in shards if shard.split == split}
        write_text(places.shards / split / SIZES_FILE, json.dumps(sizes, indent=2) + "\n")
    write_meta(places, shards)
    clips = used_clips(library.clips, places.manifests / SAMPLES_FILE)
    facts = _facts(spec, library, places, shards) | licence_facts(clips)
    settings = spec.model_dump(mode="json", exclude_none=True)
    with replacing_certified(places.manifests / SPEC_FILE, finished) as partial:
        partial.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    with replacing_certified(places.manifests / ATTRIBUTION_FILE, finished) as partial:
        write_attribution(clips, partial)
    write_attribution(clips, places.shards / ATTRIBUTION_FILE)
    write_text(places.shards / CARD_FILE, dataset_card(facts))
    receipts = [read_receipt(places, shard.shard) for shard in shards]
    samples = file_sha256(places.shards / SAMPLES_FILE)
    value = croissant(facts, [receipt for receipt in receipts if receipt is not None], samples)
    write_text(places.shards / CROISSANT_FILE, json.dumps(value, indent=2) + "\n")
    return facts


def _write_samples(
    places: Places, shards: Sequence[ShardPlan], finished: VersionReceipt | None, stems: bool
) -> None:
    """Write `samples.parquet`, and beside each shard where its samples lie."""
    rights = read_rights(places.manifests / CLIPS_FILE)
    with (
        pq.ParquetFile(places.manifests / PLAN_FILE) as plan,
        replacing_certified(places.manifests / SAMPLES_FILE, finished) as partial,
        pq.ParquetWriter(
            partial,
            SAMPLES.with_metadata(
                {
                    key: value
                    for key, value in plan.schema_arrow.metadata.items()
                    if key != BUILD_DIGEST.encode()  # `corpus.json` names the build
                }
            ),
            compression="zstd",
        ) as writer,
    ):
        for row_group, members in groupby(shards, attrgetter("row_group")):
            together = list(members)
            planned = plan.read_row_group(row_group)
            tables = []
            for shard in together:
                path = places.measurements_path(shard.shard)
                check_columns(path, MEASUREMENTS)
                with explain_damage(path):
                    tables.append(read_columns(path))
            measured = pa.concat_tables(tables)
            joined = pa.table([*planned.columns, *measured.columns], schema=writer.schema)
            writer.write_table(joined, row_group_size=joined.num_rows)
            for shard in together:
                rows = joined.slice(shard.row, shard.samples)
                path = places.shard_path(shard.split, shard.shard)
                write_index(path, rows, rights, stems)


def _facts(
    spec: Spec, library: IngestedLibrary, places: Places, shards: Sequence[ShardPlan]
) -> dict[str, Any]:
    samples: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for shard in shards:
        samples[shard.split] += shard.samples
        files[shard.split] += 1
    frames, excerpts, generators = _totals(places.manifests / SAMPLES_FILE)
    captioned = any(clip["captions"] for clip in library.clips.rows("captions"))
    rate = spec.audio.sample_rate
    source = spec.make_source()
    origin = find_origin(type(innermost(source)))
    receipts = (read_receipt(places, shard.shard) for shard in shards)
    libraries = {
        json.dumps(receipt.libraries, sort_keys=True) for receipt in receipts if receipt is not None
    }
    return {
        "corpus": places.corpus,
        "version": places.version,
        "format_version": FORMAT_VERSION,
        "algorithms": algorithm_versions(),
        "digest": spec.build_digest(library.digest),
        "recipe": spec.make_recipe().name,
        "source": source.name,
        "citation": origin.reference if origin else "",
        "sample_rate": rate,
        "audio_format": spec.audio.format.value,
        "fade": spec.audio.fade.value,
        "peak_db": spec.audio.peak_db,
        **({"stems": True} if spec.audio.stems else {}),
        "splits": {
            split: {"samples": count, "shards": files[split]} for split, count in samples.items()
        },
        "hours": round(frames / rate / 3600, 4),
        "generators": generators,
        "excerpts": excerpts,
        "excerpts_of_captioned_clips": excerpts if captioned else 0,
        "shards": relpath(places.shards, places.manifests),
        "bank": relpath(library.index, places.manifests),
        "libraries": [json.loads(versions) for versions in sorted(libraries)],
    }


def _totals(samples: Path) -> tuple[int, int, dict[str, int]]:
    """Frames, excerpts, and how many captions each rule, source or model made."""
    frames = excerpts = 0
    generators: Counter[str] = Counter()
    captions = ("positives", "negatives")
    for batch in read_batches(samples, ["frames", "excerpts", "generator", *captions]):
        frames += pc.sum(batch["frames"]).as_py()
        excerpts += pc.sum(batch["excerpts"]).as_py()
        generators.update(batch["generator"].to_pylist())
        for name in captions:
            generators.update(batch[name].flatten().field("generator").to_pylist())
    return frames, excerpts, dict(sorted(generators.items()))


# Pointing `latest` to a version. A gate that a version failed binds every command.


RECORD_FILE: Final = "nightly.json"
OVERRIDDEN: Final = "overridden"


def promote(places: Places, override: bool = False) -> None:
    """Point `latest` to a finished version.

    Args:
        places: Of the version; their writer is the caller.
        override: Promote it although a gate failed, and say so in the record.
    """
    record = read_record(places)
    failed = not record.get("passed", True) and not record.get(OVERRIDDEN, False)
    if failed and not override:
        gates = [gate["name"] for gate in record.get("gates", []) if not gate["passed"]]
        folder = places.format_path(places.versions)
        raise CorpusError(
            f"{places.corpus} {places.version} is built, but not promoted: it failed the gates "
            f"{', '.join(gates)} in its last nightly build; `latest` is unchanged",
            fix=f"see {places.format_path(places.manifests)}/nightly.md; run `segue night run` "
            f"again once the gates pass, or `segue promote {folder} {places.version} "
            "--override-gates`",
        )
    if failed:
        path = places.manifests / RECORD_FILE
        write_text(path, json.dumps(record | {OVERRIDDEN: True}, indent=2) + "\n")
        places.store.put(path)
    write_text(places.versions / LATEST_FILE, places.version + "\n")
    places.store.put(places.versions / LATEST_FILE)


def read_record(places: Places) -> dict[str, Any]:
    """What a night found of a version; empty where there was none."""
    path = places.manifests / RECORD_FILE
    record: dict[str, Any] = {}
    if path.is_file():
        record = read_json(path, fix="delete it and run again")
    return record
