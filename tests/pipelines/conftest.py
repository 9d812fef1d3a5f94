from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from pipelines.builder import plan
from pipelines.builder.drafting import DraftedRows, Drafter
from pipelines.config.spec import Spec
from pipelines.engines.engine import Engine
from synth.corpus.corpus import Corpus
from synth.sources.procedural import foley
from tests.kit.browsing import served
from tests.kit.builds import TINY, merged
from tests.kit.chromium import launched
from tests.kit.corpora import built
from tests.kit.corpora import manifests as manifests_of

SCREENSHOTS = "SEGUE_SCREENSHOTS"
"""The variable that names the folder of the documents' pictures, where they are to be made."""

SLOW = {"bucket", "browser", "listening", "new_cluster", "s3", "schedules", "server"}
"""Fixtures that start servers, clusters and browsers."""

collect_ignore = [] if SCREENSHOTS in os.environ else ["look/test_pictures.py"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow whatever needs a server or a cluster."""
    for item in items:
        if not SLOW.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def _made_once() -> Iterator[None]:
    """A process makes each procedural take once: making them is most of building a tiny corpus."""
    make, made = foley.synthesize, dict[tuple[str, str], NDArray[np.float32]]()

    def synthesize(label: str, rng: np.random.Generator) -> NDArray[np.float32]:
        key = (label, str(rng.bit_generator.state))
        if key not in made:
            made[key] = make(label, rng)
            made[key].flags.writeable = False
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(foley, "synthesize", synthesize)
        yield


@pytest.fixture(scope="session", autouse=True)
def _planned_once() -> Iterator[None]:
    """A process plans each corpus once: to plan a tiny one is most of what is left of its build.

    A plan is known by the digest of all that determines it. Every process that a test starts, and
    the corpora that are pinned, are planned anew; they would show a plan that is not always one.
    """
    known: dict[str, list[DraftedRows]] = {}
    draft = plan.draft_all

    def draft_all(
        drafter: Drafter, where: Engine, folder: Path, key: str
    ) -> Generator[DraftedRows]:
        if key not in known:
            made = []
            for rows in draft(drafter, where, folder, key):
                made.append(rows)
                yield rows
            known[key] = made
            return
        yield from known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "draft_all", draft_all)
        yield


@pytest.fixture
def tiny() -> Callable[..., Spec]:
    """A small corpus's spec, with changes."""
    return lambda **changes: Spec.model_validate(merged(TINY, changes))


@pytest.fixture
def tiny_file(tmp_path: Path) -> Callable[..., Path]:
    """The same as a file."""

    def write(**changes: Any) -> Path:
        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(merged(TINY, changes)))
        return path

    return write


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a built tiny corpus; not to be changed."""
    return built(TINY, tmp_path_factory)


@pytest.fixture(scope="session")
def manifests(tiny_corpus: Path) -> Path:
    """The manifest folder of the tiny corpus."""
    return tiny_corpus / "data_manifests" / "tiny"


@pytest.fixture(scope="session")
def corpus(manifests: Path) -> Corpus:
    """The tiny corpus, opened."""
    return Corpus.open(manifests)


@pytest.fixture(scope="session")
def corpus_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Corpus]:
    """Opens the tiny corpus with changes of its spec; not to be changed."""
    return lambda **changes: Corpus.open(manifests_of(merged(TINY, changes), tmp_path_factory))


@pytest.fixture
def out(tiny_corpus: Path, tmp_path: Path) -> Path:
    """A root that holds the tiny corpus, of the test's own."""
    return Path(shutil.copytree(tiny_corpus, tmp_path / "out"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium; no longer than a module, for its driver holds this thread's loop."""
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def address(corpus: Corpus) -> Iterator[str]:
    """Where the tiny corpus is browsed."""
    with served(corpus.folder) as found:
        yield found
