"""`segue rebuild`, and `segue build` of a version that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from pipelines.builder.schedule import MOST_RETRIES, MOST_TIMEOUT_S, RenderSettings
from pipelines.cli.common.options import CorpusArgument, StageOption, StoreOption, WorkersOption
from pipelines.cli.common.show import print_next
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
    from pipelines.versions.reproduce import Reproduction

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
    int,
    typer.Option(min=0, max=MOST_RETRIES, help="Retries of a shard after a file-system error."),
]


@dataclass(frozen=True, slots=True)
class ReproductionRequest:
    """A finished version that is to be reproduced.

    Args:
        given: The spec that was given, None where the version's own is meant.
    """

    places: Places
    given: Spec | None


def read_request(
    path: Path, version: str | None, out: Path, stage: Path | None = None
) -> tuple[Spec | ReproductionRequest, Path]:
    """What `segue build PATH --version VERSION --out OUT --stage STAGE` asks for.

    Returns:
        The spec to be built, or the finished version to be reproduced; and the folder to work in.
    """
    from pydantic import ValidationError

    from pipelines.config.file import read_spec
    from pipelines.config.spec import Spec
    from pipelines.store.places import Places
    from pipelines.store.stage import store_at
    from synth.corpus.corpus import CORPUS_FILE

    if may_be_folder(path):
        places = _find_version(path, version, out, stage)
        return ReproductionRequest(places, None), places.out
    root = resolve_destination(out, stage)
    spec = read_spec(path)
    if version is None:
        return spec, root
    if spec.version not in (None, version):
        raise SpecError(
            f"{path}: version: {spec.version}, but --version says {version}",
            fix="leave out one of them",
        )
    try:
        spec = Spec.model_validate(spec.model_dump() | {"version": version})
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise SpecError(f"--version {version}: {reason}") from error
    places = Places(store_at(root.resolve()), spec.corpus, version)
    is_finished = places.store.holds(places.manifests / CORPUS_FILE)
    return (ReproductionRequest(places, spec) if is_finished else spec), root


def _find_version(path: Path, version: str | None, out: Path, stage: Path | None) -> Places:
    """The version that a manifest folder, or its URL, and `--version` name."""
    from pipelines.store.places import Places
    from pipelines.store.stage import open_store
    from pipelines.store.store import MANIFESTS
    from pipelines.versions.history import open_versions, split_place
    from synth.corpus.corpus import CORPUS_FILE

    corpus = Path(resolve_place(path))
    if corpus.parent.parent.name == MANIFESTS or (corpus / CORPUS_FILE).is_file():
        version = _agree_on_version(path, corpus.name, version)
        corpus = corpus.parent
    version = _find_finished(open_versions(corpus), path, version)
    root, name = split_place(corpus)
    if out != Path() and resolve_place(out) != root:
        raise SpecError(
            f"{format_place(path)} is below {root}, but --out says {format_place(out)}",
            fix="leave out --out",
        )
    return Places(open_store(root, stage), name, version)


def _agree_on_version(path: Path, name: str, version: str | None) -> str:
    """The version that a path and --version name."""
    if version not in (None, name):
        raise SpecError(
            f"{format_place(path)} is version {name}, but --version says {version}",
            fix="leave out one of them",
        )
    return name


def _find_finished(versions: Sequence[Version], path: Path, version: str | None) -> str:
    """A version that is finished, by default the one that `latest` names."""
    from synth.corpus.corpus import LATEST_FILE

    version = version or next((each.name for each in versions if each.latest), "")
    known = [each.name for each in versions if each.finished]
    if version not in known:
        named = format_place(path)
        raise CorpusError(
            f"{named}: no finished version {version or LATEST_FILE}",
            fix=f"known versions: {', '.join(known)}; see `segue versions {named}`"
            if known
            else "build one with `segue build SPEC`",
        )
    return version


def reproduce_version(
    request: ReproductionRequest, workers: int, settings: RenderSettings, observer: Observer
) -> CommandResult:
    """Reproduce a version; status 1 where something is other than it was."""
    from pipelines.versions.reproduce import reproduce

    found = reproduce(request.places, request.given, workers, observer, settings)
    return CommandResult(
        found.to_json(), partial(_print, found), status=int(bool(found.differences))
    )


def rebuild_command(
    corpus: CorpusArgument,
    version: Annotated[
        str | None,
        typer.Argument(help="The version; by default the latest."),
    ] = None,
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
    """
    if not may_be_folder(corpus):
        raise SpecError(
            f"{corpus}: no such manifest folder", fix="give data_manifests/CORPUS, or its URL"
        )
    request, _ = read_request(corpus, version, out, stage)
    assert isinstance(request, ReproductionRequest)
    count = processors() if workers is None else workers
    return reproduce_version(
        request, count, RenderSettings(timeout_s=timeout, retries=retries), observer
    )


def _print(found: Reproduction) -> None:
    console = make_console()
    if found.differences:
        console.print(
            f"[bold red]not reproduced[/]: {found.corpus} {found.version} would differ, so "
            "nothing was changed"
        )
        for line in found.differences.lines():
            console.print(f"  {line}", markup=False)
        return
    console.print(
        f"[bold]{found.corpus}[/] {found.version}: reproduced; all {found.shards:,} shards "
        "match their receipts"
    )
    there = found.shards - found.rendered - found.linked
    console.print(
        f"{found.rendered:,} shards rendered, {found.linked:,} shared with another version, "
        f"{there:,} already there, {found.seconds:.1f} s"
    )
    console.print(f"manifests  {found.paths['manifests']}", markup=False)
    console.print(f"shards     {found.paths['shards']}", markup=False)
    print_next(console, "segue", "inspect", found.paths["manifests"])
