"""`segue rebuild`, and `segue build` of a version that is there already."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer
from pydantic import ValidationError

from pipelines.builder.schedule import MOST_RETRIES, MOST_TIMEOUT_S, RenderSettings
from pipelines.cli.common.options import CorpusArgument, StageOption, StoreOption, WorkersOption
from pipelines.cli.common.show import print_next
from pipelines.cli.common.source import resolve_destination
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from pipelines.store.places import MANIFESTS, Places
from pipelines.store.stage import choose_stage, find_mirror
from pipelines.versions.history import list_versions
from pipelines.versions.reproduce import Reproduction, reproduce
from pipelines.versions.shelf import VersionShelf, open_shelf, split_url
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import CorpusError, SpecError
from synth.base.processors import processors
from synth.base.progress import Observer
from synth.corpus.corpus import CORPUS_FILE, LATEST_FILE
from synth.storage import url_of

DEFAULTS: Final = RenderSettings()
TimeoutOption: TypeAlias = Annotated[
    float,
    typer.Option(
        min=1,
        max=MOST_TIMEOUT_S,
        help="Seconds a worker may take for one shard; waiting for a worker does not count.",
    ),
]
RetriesOption: TypeAlias = Annotated[
    int,
    typer.Option(min=0, max=MOST_RETRIES, help="Retries of a shard after a file system error."),
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
    if (url := url_of(path)) is not None:
        places = _stage_version(url, version, out, stage)
        return ReproductionRequest(places, None), places.out
    root = resolve_destination(out, stage)
    if path.is_dir():
        return ReproductionRequest(_find_version(path, version, out), None), root
    spec = read_spec(path)
    if version is None:
        return spec, root
    if spec.version not in (None, version):
        raise SpecError(
            f"{path}: version: {spec.version}, but --version says {version}",
            fix="drop one of them",
        )
    try:
        spec = Spec.model_validate(spec.model_dump() | {"version": version})
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise SpecError(f"--version {version}: {reason}") from error
    places = Places(root.resolve(), spec.corpus, version)
    return (ReproductionRequest(places, spec) if _is_finished(places) else spec), root


def _is_finished(places: Places) -> bool:
    mirror = find_mirror(places.out)
    path = places.manifests / CORPUS_FILE
    return path.is_file() if mirror is None else mirror.holds(path)


def _find_version(path: Path, version: str | None, out: Path) -> Places:
    folder = path.resolve()
    if (folder / CORPUS_FILE).is_file():
        folder, version = folder.parent, _agree_on_version(path, folder.name, version)
    shelf = open_shelf(path if folder == path.resolve() else folder)
    version = _find_finished(shelf, path, version)
    if out != Path() and (url_of(out) is not None or out.resolve() != shelf.out):
        raise SpecError(
            f"{path} is below {shelf.out}, but --out says {url_of(out) or out}",
            fix="drop --out",
        )
    return shelf.locate(version)


def _stage_version(url: str, version: str | None, out: Path, stage: Path | None) -> Places:
    """A version at a store, to be worked on in a stage."""
    corpus, _, last = url.rpartition("/")
    if corpus.rpartition("/")[2] != MANIFESTS and corpus.rpartition("/")[0].endswith(MANIFESTS):
        version = _agree_on_version(Path(url), last, version)
    else:
        corpus = url
    shelf = open_shelf(Path(corpus))
    version = _find_finished(shelf, Path(url), version)
    base, name = split_url(corpus)
    if out != Path() and url_of(out) != base:
        raise SpecError(
            f"{url} is below {base}, but --out says {url_of(out) or out}", fix="drop --out"
        )
    return Places(choose_stage(base, stage), name, version)


def _agree_on_version(path: Path, name: str, version: str | None) -> str:
    """The version that a path and --version name."""
    if version not in (None, name):
        raise SpecError(
            f"{url_of(path) or path} is version {name}, but --version says {version}",
            fix="drop one of them",
        )
    return name


def _find_finished(shelf: VersionShelf, path: Path, version: str | None) -> str:
    """A version that is finished, by default the one that `latest` names."""
    version = version or shelf.read_latest()
    known = [each.name for each in list_versions(shelf) if each.finished]
    if version not in known:
        named = url_of(path) or path
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
    found = reproduce(request.places, request.given, workers, observer, settings)
    return CommandResult(
        found.to_json(), partial(_print, found), status=int(bool(found.differences))
    )


def rebuild_command(
    corpus: CorpusArgument,
    version: Annotated[
        str | None,
        typer.Argument(help="The version; by default the one that `latest` names."),
    ] = None,
    out: StoreOption = Path(),
    stage: StageOption = None,
    workers: WorkersOption = None,
    timeout: TimeoutOption = DEFAULTS.timeout_s,
    retries: RetriesOption = DEFAULTS.retries,
    *,
    observer: Observer,
) -> CommandResult:
    """Rebuild the lost shards of a finished version, byte for byte.

    If settings, clips, libraries and algorithms are unchanged, missing shards are rendered and
    every shard is compared with its receipt. Otherwise the differences are listed, nothing is
    changed, and the status is 1.

    Example: `segue rebuild data_manifests/acba/2f6c01d9a4b8`
    """
    if url_of(corpus) is None and not corpus.is_dir():
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
