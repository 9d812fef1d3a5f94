"""`segue rebuild`, and `segue build` of a version that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from pipelines.builder.schedule import MOST_RETRIES, MOST_TIMEOUT_S, RenderSettings
from pipelines.cli.common.options import CorpusArgument, StageOption, StoreOption, WorkersOption
from pipelines.cli.common.show import print_next, say
from pipelines.cli.common.source import resolve_destination
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import CorpusError, SpecError
from synth.base.processors import processors
from synth.base.progress import Observer
from synth.storage import format_place, may_be_folder, resolve_place

if TYPE_CHECKING:
    from pipelines.config.spec import Spec
    from pipelines.store.places import Places
    from pipelines.versions.history import Version
    from pipelines.versions.rebuild import RebuildSummary

DEFAULTS: Final = RenderSettings()
TimeoutOption: TypeAlias = Annotated[
    float,
    typer.Option(
        min=1,
        max=MOST_TIMEOUT_S,
        help="Seconds a worker may take for one shard. Waiting for a worker does not count.",
    ),
]
RetriesOption: TypeAlias = Annotated[
    int, typer.Option(min=0, max=MOST_RETRIES, help="Retries of a shard after a file-system error.")
]


def read_request(
    path: Path, version: str | None, out: Path, stage: Path | None = None
) -> tuple[Spec, Places | None, Path]:
    """What `segue build PATH --version VERSION --out OUT --stage STAGE` asks for.

    Returns:
        The spec; the version of it that is to be rebuilt, if that one is finished; and the
        folder to work in.
    """
    from pipelines.config.file import read_spec
    from pipelines.config.spec import Spec
    from pipelines.store.places import Places
    from pipelines.store.stage import store_at
    from synth.base.choice import check_values
    from synth.corpus.corpus import CORPUS_FILE

    root = resolve_destination(out, stage)
    spec = read_spec(path)
    if version is None:
        return spec, None, root
    if spec.version not in (None, version):
        raise SpecError(
            f"{path}: version: {spec.version}, but --version says {version}",
            fix="leave out one of them",
        )
    spec = check_values(Spec, spec.model_dump() | {"version": version}, f"--version {version}")
    places = Places(store_at(root.resolve()), spec.corpus, version)
    return spec, places if places.store.holds(places.manifests / CORPUS_FILE) else None, root


def find_version(
    path: Path, version: str | None, out: Path = Path(), stage: Path | None = None
) -> Places:
    """The finished version that a manifest folder, or its URL, and a name are of."""
    from pipelines.store.places import Places
    from pipelines.store.stage import open_store
    from pipelines.store.store import MANIFESTS
    from pipelines.versions.history import open_versions, split_place
    from synth.corpus.corpus import CORPUS_FILE

    corpus = Path(resolve_place(path))
    if corpus.parent.parent.name == MANIFESTS or (corpus / CORPUS_FILE).is_file():
        if version not in (None, corpus.name):
            raise SpecError(
                f"{format_place(path)} is version {corpus.name}, but --version says {version}",
                fix="leave out one of them",
            )
        corpus, version = corpus.parent, corpus.name
    version = _find_finished(open_versions(corpus), path, version)
    root, name = split_place(corpus)
    if out != Path() and resolve_place(out) != root:
        raise SpecError(
            f"{format_place(path)} is below {root}, but --out says {format_place(out)}",
            fix="leave out --out",
        )
    return Places(open_store(root, stage), name, version)


def _find_finished(versions: Sequence[Version], path: Path, version: str | None) -> str:
    """A version that is finished, by default the one that `latest` names."""
    from synth.corpus.corpus import LATEST_FILE

    version = version or next((other.name for other in versions if other.latest), "")
    finished = [other.name for other in versions if other.finished]
    if version not in finished:
        named = format_place(path)
        raise CorpusError(
            f"{named}: no finished version {version or LATEST_FILE}",
            fix=f"known versions: {', '.join(finished)}; see `segue versions {named}`"
            if finished
            else "build one with `segue build SPEC`",
        )
    return version


def rebuild_version(
    places: Places,
    given: Spec | None,
    workers: int | None,
    settings: RenderSettings,
    observer: Observer,
) -> CommandResult:
    """Rebuild a version; status 1 where something is other than it was."""
    from pipelines.versions.rebuild import rebuild

    count = processors() if workers is None else workers
    result = rebuild(places, given, count, observer, settings)
    return CommandResult(
        result.to_json(), partial(_print, result), status=int(bool(result.differences))
    )


def rebuild_command(
    corpus: CorpusArgument,
    version: Annotated[str | None, typer.Argument()] = None,
    out: StoreOption = Path(),
    stage: StageOption = None,
    workers: WorkersOption = None,
    timeout: TimeoutOption = DEFAULTS.timeout_s,
    retries: RetriesOption = DEFAULTS.retries,
    *,
    observer: Observer,
) -> CommandResult:
    """Rebuild the missing shards of a finished version, byte for byte.

    If settings, clips, libraries and algorithms are unchanged, missing shards are rendered and
    every shard is compared with its receipt. Otherwise the differences are listed, nothing is
    changed, and the exit status is 1.

    Example: `segue rebuild data_manifests/acba/2f6c01d9a4b8`

    Args:
        version: The version; by default the latest.
    """
    if not may_be_folder(corpus):
        raise SpecError(
            f"{corpus}: no such manifest folder", fix="give data_manifests/CORPUS, or its URL"
        )
    places = find_version(corpus, version, out, stage)
    settings = RenderSettings(timeout_s=timeout, retries=retries)
    return rebuild_version(places, None, workers, settings, observer)


def _print(result: RebuildSummary) -> None:
    console = make_console()
    if result.differences:
        console.print(
            f"[bold red]not reproduced[/]: {result.corpus} {result.version} would differ, so "
            "nothing was changed"
        )
        for line in result.differences.lines():
            say(f"  {line}")
        return
    console.print(
        f"[bold]{result.corpus}[/] {result.version}: reproduced; all {result.shards:,} shards "
        "match their receipts"
    )
    present = result.shards - result.rendered - result.linked
    say(
        f"{result.rendered:,} shards rendered, {result.linked:,} shared with another version, "
        f"{present:,} already there, {result.seconds:.1f} s"
    )
    say(f"manifests  {result.paths['manifests']}")
    say(f"shards     {result.paths['shards']}")
    print_next("segue", "inspect", result.paths["manifests"])
