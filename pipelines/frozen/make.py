"""Build a frozen test set, and refuse what is not the published one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pipelines.builder.build import Summary, build, plan_library, refuse_unheard
from pipelines.builder.claim import algorithm_versions
from pipelines.builder.differences import algorithm_differences
from pipelines.config.spec import Spec
from pipelines.engines.cluster import library_versions
from pipelines.frozen.composed import BY_CONSTRUCTION, list_choices, measure_baselines
from pipelines.frozen.description import (
    SPLIT,
    BaselineScore,
    BuiltSet,
    FrozenSet,
    SetQuestion,
    write_record,
)
from pipelines.frozen.digests import (
    SHOWN,
    PublishedSet,
    clip_changes,
    digest_clips,
    digest_corpus,
    digest_plan,
    library_changes,
    read_published,
)
from synth.base.errors import CorpusError
from synth.base.progress import Observer
from synth.corpus.corpus import SAMPLES_FILE, Corpus
from synth.export.items import list_shards
from synth.export.moments import find_queries
from synth.shortcuts.audio import run_trivial_test
from synth.shortcuts.figures import Shortcuts, TooFewGroupsError
from synth.shortcuts.text import run_blind_test
from synth.sources import Settings

MOST_BY_TEXT: Final = 0.52
"""What text alone may score in a set that is published; chance is one half."""
_ALL: Final = 1_000_000
_MOST_HEARD: Final = 4000


@dataclass(frozen=True, slots=True)
class MadeSet:
    """What `make_set` did."""

    built: BuiltSet
    summary: Summary

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return self.built.model_dump(mode="json") | {"build": self.summary.to_json()}


def make_set(
    frozen: FrozenSet,
    source: Settings,
    root: Path,
    workers: int,
    observer: Observer,
    publish: Path | None = None,
) -> MadeSet:
    """Build a set, and compare it with its published digest; a killed build resumes.

    Other clips, or another plan, are refused before anything is rendered.

    Args:
        source: The library, and where it lies.
        publish: Folder to publish the digest in, instead of comparing it.
    """
    name = str(source.name)  # type: ignore[attr-defined]
    spec = frozen.make_spec(source)
    refuse_unheard(spec)
    if publish:
        _refuse_part(frozen, spec, name)
    published = None if publish else read_published(frozen.digest_file(name))
    library, places, _ = plan_library(spec, root, workers, observer)
    clips = digest_clips(library.clips) if getattr(source, "reads_files", True) else {}
    if published:
        if changed := clip_changes(published, clips):
            fix = f"get the whole of {name} as it is published; `segue check` names faulty files"
            raise _refuse(frozen, name, "has other clips", changed, fix)
        if digest_plan(places.manifests) != published.plan:
            raise _refuse(frozen, name, "has another plan", *_blame(published))
    summary = build(spec, root, workers, observer)
    corpus = Corpus.open(Path(summary.paths["manifests"]))
    description = frozen.description
    choices = list_choices(corpus, description.edits) if description.composed else []
    tasks = list_queries(corpus) if description.windows else [asdict(choice) for choice in choices]
    fresh = PublishedSet(
        digest=digest_corpus(corpus, observer, tasks),
        plan=digest_plan(corpus.folder),
        samples=corpus.samples(SPLIT, columns=["id"]).num_rows,
        clips=clips,
        algorithms=algorithm_versions(),
        libraries=dict(library_versions()),
    )
    if published and fresh.digest != published.digest:
        raise _refuse(frozen, name, "has other audio", *_blame(published))
    baselines = measure_baselines(corpus, choices) if choices else {}
    text_only = BY_CONSTRUCTION if choices else _score_text(frozen, corpus, observer)
    if publish:
        if text_only.value > MOST_BY_TEXT:
            raise CorpusError(
                f"{frozen.name} over {name}: text alone scores {text_only.value:.1%}",
                fix=f"a set is published only at {MOST_BY_TEXT:.0%} or less: change its recipe",
            )
        fresh.write(frozen.digest_file(name, publish))
    built = BuiltSet(
        **description.model_dump(include=set(SetQuestion.model_fields)),
        name=frozen.name,
        source=name,
        corpus=frozen.corpus(name),
        digest=fresh.digest,
        published=bool(published or publish),
        samples=fresh.samples,
        text_only=text_only,
        trivial=None if description.composed else _score_trivial(frozen, corpus, observer),
        baselines=baselines,
    )
    write_record(built, root)
    return MadeSet(built, summary)


def list_queries(corpus: Corpus) -> list[dict[str, Any]]:
    """When each sound of a set is heard, as exported."""
    return [query for shard in list_shards(corpus, [SPLIT]) for query in find_queries(shard)[0]]


def _refuse_part(frozen: FrozenSet, spec: Spec, name: str) -> None:
    defined = frozen.description.sources[name]
    names = None if isinstance(defined.test, float) else set(map(str, defined.test))
    listed = sum(names is None or ref.split in names for ref in spec.make_source().refs())
    if defined.clips not in (None, listed):
        splits = defined.test if isinstance(defined.test, list) else ()
        part = f" of its own split {', '.join(map(str, splits))}" if splits else ""
        raise CorpusError(
            f"{frozen.name} over {name}: this copy lists {listed:,} of {defined.clips:,} clips"
            f"{part}, from which the set is made",
            fix=f"publish it from the whole of {name}",
        )


def _refuse(
    frozen: FrozenSet, source: str, what: str, changed: Sequence[str], fix: str
) -> CorpusError:
    more = f"; and {len(changed) - SHOWN:,} more" if len(changed) > SHOWN else ""
    differences = "; ".join(changed[:SHOWN]) + more
    return CorpusError(
        f"{frozen.name} over {source} {what} than the published set ({differences})", fix=fix
    )


def _blame(published: PublishedSet) -> tuple[Sequence[str], str]:
    """What probably made plan or audio another: Segue, packages, or else the machine."""
    if lines := algorithm_differences({"algorithms": published.algorithms}):
        fix = "install the Segue that published it, or build the set's newest version"
        return [f"algorithm {line}" for line in lines], fix
    if packages := library_changes(published):
        fix = f"build it with the same packages: pip install {' '.join(packages)}"
        return [f"published with {package}" for package in packages], fix
    return ["clips, Segue and packages are the same"], (
        "build it on another machine, and report this one"
    )


def _score_text(frozen: FrozenSet, corpus: Corpus, observer: Observer) -> BaselineScore:
    """How well text alone tells the captions that are scored from their false ones."""
    manifest = corpus.folder / SAMPLES_FILE
    score = _find_worst(frozen, run_blind_test(manifest, _ALL, observer=observer), "own")
    if score is None:
        raise CorpusError(
            f"{frozen.name}: too few groups with false captions of {frozen.description.edits}",
            fix="ask for more samples, or name other edits",
        )
    return score


def _score_trivial(frozen: FrozenSet, corpus: Corpus, observer: Observer) -> BaselineScore | None:
    """The same by features of the audio; None where too few groups tell."""
    try:
        result = run_trivial_test(corpus, _MOST_HEARD, observer=observer, splits=[SPLIT])
    except TooFewGroupsError:
        return None
    return _find_worst(frozen, result, "member")


def _find_worst(frozen: FrozenSet, result: Shortcuts, measure: str) -> BaselineScore | None:
    """Over the kinds of edit that are scored."""
    figures = [
        figure
        for figure in result.figures
        if figure.split == SPLIT
        and figure.measure == measure
        and figure.kind in frozen.description.edits
    ]
    if not figures:
        return None
    worst = max(figures, key=lambda figure: figure.excess)
    return BaselineScore(
        value=round(worst.value, 4), low=round(worst.low, 4), high=round(worst.high, 4)
    )
