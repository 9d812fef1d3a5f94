"""Corpora to browse, and a server of their pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import uvicorn

from pipelines.look.browse.app import BrowsedCorpus, create_app
from pipelines.look.browse.guard import Hosts
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, SAMPLES_FILE, Corpus
from tests.kit.waiting import wait_for


def variant(
    corpus: Corpus, folder: Path, change: Callable[[pa.Table], pa.Table], **facts: Any
) -> Path:
    """A corpus with other rows over the same shards; its manifest folder."""
    folder.mkdir(parents=True)
    (folder / CLIPS_FILE).write_bytes((corpus.folder / CLIPS_FILE).read_bytes())
    table = pq.read_table(corpus.folder / SAMPLES_FILE)
    changed = change(table).replace_schema_metadata(table.schema.metadata)
    told = {
        **corpus.facts,
        "splits": count_samples(corpus, changed),
        "shards": str(corpus.shards),
        **facts,
    }
    (folder / CORPUS_FILE).write_text(json.dumps(told), encoding="utf-8")
    pq.write_table(changed, folder / SAMPLES_FILE, row_group_size=512)
    return folder


def count_samples(corpus: Corpus, rows: pa.Table) -> dict[str, dict[str, int]]:
    """What `corpus.json` says of its splits where these are the rows."""
    counts = {}
    for split in corpus.splits:
        shards = rows.filter(pc.field("split") == split)["shard"]
        counts[split] = {"samples": len(shards), "shards": len(shards.unique())}
    return counts


def repeated(rows: int) -> Callable[[pa.Table], pa.Table]:
    """Makes `rows` rows of a table's, each with an id, an index and a group of its own."""

    def change(table: pa.Table) -> pa.Table:
        at = np.arange(rows)
        taken = table.take(pa.array(at % table.num_rows))
        number = pa.array(at).cast(pa.string())
        turn = pa.array(at // table.num_rows).cast(pa.string())
        named = {
            "id": pc.binary_join_element_wise(taken.column("id"), number, "-"),
            "index": pa.array(at),
            "group": pc.binary_join_element_wise(taken.column("group"), turn, "-"),
        }
        for name, values in named.items():
            place = table.schema.get_field_index(name)
            taken = taken.set_column(place, table.schema.field(name), values)
        return taken

    return change


def edited(edit: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[pa.Table], pa.Table]:
    """Changes every row of a table by a function."""
    return lambda table: pa.Table.from_pylist(
        [edit(row) for row in table.to_pylist()], schema=table.schema
    )


@contextmanager
def served(place: Path) -> Iterator[str]:
    """The address of a server in a thread of this process that shows a corpus."""
    library = BrowsedCorpus.open(place)
    settings = uvicorn.Config(
        create_app(library, Hosts.of("127.0.0.1")), port=0, log_level="warning", lifespan="off"
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, name="browse", daemon=True)
    thread.start()
    try:
        wait_for(lambda: server.started or not thread.is_alive())
        assert server.started, "the server does not start"
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
        library.manifest.close()
