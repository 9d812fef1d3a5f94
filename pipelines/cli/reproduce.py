"""`segue build` of a version that is there already: what is asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer
from pydantic import ValidationError
from rich.console import Console

from pipelines.cli.show import print_json
from pipelines.places import Places
from pipelines.spec import Spec
from pipelines.spec_file import read_spec
from pipelines.versions.history import corpus_folder, list_versions
from pipelines.versions.reproduce import Reproduction
from synth.corpus import CORPUS_FILE, LATEST_FILE
from synth.errors import CorpusError, SpecError


@dataclass(frozen=True, slots=True)
class Request:
    """A finished version that is to be reproduced.

    Args:
        places: Where it lies.
        given: The spec that was given, None where the version's own is meant.
    """

    places: Places
    given: Spec | None


def asked_for(path: Path, version: str | None, out: Path) -> Spec | Request:
    """What `segue build PATH --version VERSION --out OUT` asks for.

    Returns:
        The spec to be built, or the finished version to be reproduced.

    Raises:
        SpecError: If the spec cannot be carried out, or the arguments contradict each other.
        CorpusError: If a folder was given, and no finished version is there.
    """
    if path.is_dir():
        return Request(_version_in(path, version, out), None)
    spec = read_spec(path)
    if version is None:
        return spec
    if spec.version not in (None, version):
        raise SpecError(
            f"{path}: version: {spec.version}, and --version says {version}",
            mend="leave one of them out",
        )
    try:
        spec = Spec.model_validate(spec.model_dump() | {"version": version})
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise SpecError(f"--version {version}: {reason}") from error
    places = Places(out.resolve(), spec.corpus, version)
    return Request(places, spec) if (places.manifests / CORPUS_FILE).is_file() else spec


def _version_in(path: Path, version: str | None, out: Path) -> Places:
    folder = path.resolve()
    if (folder / CORPUS_FILE).is_file():
        if version not in (None, folder.name):
            raise SpecError(
                f"{path} is version {folder.name}, and --version says {version}",
                mend="leave one of them out",
            )
        folder, version = folder.parent, folder.name
    corpus = corpus_folder(folder)
    if version is None:
        pointer = corpus / LATEST_FILE
        version = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else ""
    known = [each.name for each in list_versions(corpus) if each.finished]
    if version not in known:
        raise CorpusError(
            f"{path}: no finished version {version or LATEST_FILE}",
            mend=f"there are {', '.join(known)}; `segue versions {path}` shows them"
            if known
            else "build one with `segue build SPEC`",
        )
    root = corpus.parent.parent
    if out != Path() and out.resolve() != root:
        raise SpecError(f"{path} lies below {root}, and --out says {out}", mend="leave --out out")
    return Places(root, corpus.name, version)


def show(found: Reproduction, as_json: bool) -> None:
    """Tell what came of it, and end with status 1 where something is other than it was."""
    if as_json:
        print_json(found.to_json())
    else:
        _print(found)
    if found.differences:
        raise typer.Exit(1)


def _print(found: Reproduction) -> None:
    console = Console(soft_wrap=True, highlight=False)
    if found.differences:
        console.print(
            f"[bold red]not reproduced[/]: {found.corpus} {found.version} would be other than it "
            "was, so nothing of it was changed"
        )
        for line in found.differences.lines():
            console.print(f"  {line}", markup=False)
        return
    console.print(
        f"[bold]{found.corpus}[/] {found.version}: as it was; all {found.shards:,} shards are "
        "what their receipts say"
    )
    there = found.shards - found.rendered - found.linked
    console.print(
        f"{found.rendered:,} shards rendered, {found.linked:,} shared with another version, "
        f"{there:,} there already, {found.seconds:.1f} s"
    )
    console.print(f"manifests  {found.paths['manifests']}", markup=False)
    console.print(f"shards     {found.paths['shards']}", markup=False)
