"""Pointing `latest` to a version. A gate that a version failed binds every command.

A night keeps what its gates found as `nightly.json` in the version's manifests. As long as that
says that a gate failed, only `segue versions CORPUS --promote VERSION --override-gates` promotes
the version, and the record then says so.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pipelines.store.places import Places
from synth.base.atomic import write_text
from synth.base.doors import read_json
from synth.base.errors import CorpusError
from synth.corpus.corpus import LATEST_FILE

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
            f"again once they are met, or `segue versions {folder} --promote {places.version} "
            "--override-gates`",
        )
    if failed:
        path = places.manifests / RECORD_FILE
        write_text(path, json.dumps(record | {OVERRIDDEN: True}, indent=2) + "\n")
        if places.mirror is not None:
            places.mirror.push(path)
    write_text(places.versions / LATEST_FILE, places.version + "\n")
    if places.mirror is not None:
        places.mirror.push(places.versions / LATEST_FILE)


def read_record(places: Places) -> dict[str, Any]:
    """What a night found of a version; empty where there was none."""
    path = places.manifests / RECORD_FILE
    record: dict[str, Any] = {}
    if path.is_file():
        record = read_json(path, fix="delete it and run again")
    return record
