"""Composing one scene: takes are drawn until one proves it, then all that is known is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipelines.builder.build import refuse_unheard
from pipelines.builder.drafting import Drafter, GroupRun
from pipelines.builder.usable import UsableClips
from pipelines.cli.common.progress_display import show_progress
from pipelines.cli.common.source import parse_source
from pipelines.config.enrich import Enrichment
from pipelines.config.file import parse_spec
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import IngestedLibrary, ingest
from pipelines.store.store import BANKS
from synth.audio.bank import Bank
from synth.audio.dsp import Pcm
from synth.audio.render import render
from synth.base.errors import PlanError, suggestion
from synth.base.yaml_file import YamlFile
from synth.captions.caption import Caption
from synth.captions.contrast import CaptionSet, pool, tell_claims
from synth.corpus.schema import canonical_json
from synth.labels.lexicon import fold_spelling
from synth.recipes.base import Draft
from synth.recipes.casting import ANY, DrawnCast, cast_sounds, fill_labels
from synth.recipes.composing import Placed, make_teller
from synth.recipes.scenes import SceneGroups, Scenes
from synth.scene.edit import recompositions, rename_labels
from synth.scene.scene import Concat, Scene, format_scene, from_text, labels
from synth.scene.timeline import recompose
from synth.storage.copies import cache_folder

_MOST: Final = 8
"""True sentences of a scene, and false ones."""
_TRIES: Final = 200
_SPLIT: Final = "train"


@dataclass(frozen=True)
class OneScene(SceneGroups):
    """A group of one scene, with all that the recipe could say of it."""

    wanted: Scene | None = None

    def __len__(self) -> int:
        return 1

    def group(self, index: int) -> list[Draft]:
        """The scene, of the first takes that prove it."""
        assert self.wanted is not None
        rng = self.rng(index)
        for _ in range(_TRIES):
            base = self.cast.fill(self.wanted, rng)
            if base is None:
                continue
            sounds = cast_sounds(self.cast, labels(base), None, set(), self.setting, rng)
            placed = self._compose(base, sounds, rng)
            if placed is not None:
                return [placed.draft(self._tell(placed, rng))]
        raise PlanError(
            f"{format_scene(self.wanted)}: no recordings were found of which this is surely true",
            fix="sounds at once may mask or outlast each other: put some after others (+), or give "
            "a source with longer recordings",
        )

    def _tell(self, placed: Placed, rng: np.random.Generator) -> CaptionSet:
        """Every claim of the recipe's pool that is surely true, or surely false."""
        base = placed.statement
        names = self.cast.exchange(base, rng)
        others = [rename_labels(base, names)] if names else []
        most = self.settings.polyphony
        if isinstance(base, Concat) and len(labels(base)) > most:
            others += recompose(base, most)
        else:
            others += recompositions(base)
        tell = make_teller(self.settings.style, self.setting.rate, rng)
        claims = chain([base], pool([base, *others]))
        (main, *positives), false = tell_claims(placed, claims, tell)
        by_kind: dict[str, list[Caption]] = {}
        for caption in false:
            by_kind.setdefault(str(caption.edit), []).append(caption)
        negatives = filter(None, chain.from_iterable(zip_longest(*by_kind.values())))
        limit = self.settings.captions
        return CaptionSet(main, tuple(positives[: limit - 1]), tuple(islice(negatives, limit)))


@dataclass(frozen=True)
class Studio:
    """The recordings of a source, ready to be composed."""

    spec: Spec
    library: IngestedLibrary
    usable: UsableClips

    def compose(self, wanted: Scene) -> dict[str, Any]:
        """The scene as a row of `schema.PLAN`.

        Args:
            wanted: Over labels, categories or `any`.
        """
        recipe, setting = self.spec.make_recipe(), self.spec.setting
        assert isinstance(recipe, Scenes)
        groups = OneScene(recipe, _SPLIT, 1, tuple(self.usable.clips[_SPLIT]), setting)
        groups = replace(groups, wanted=_find_labels(wanted, groups.cast))
        drafter = Drafter(
            self.spec.corpus,
            Scenes.name,
            {_SPLIT: groups},
            groups.listener,
            self.spec.audio,
            Enrichment.read((), setting.audible),
            self.usable.shortage,
        )
        row: dict[str, Any]
        (row,) = drafter.draft(GroupRun(_SPLIT, range(1))).rows.to_pylist()
        return row | {"id": f"seed-{self.spec.seed}", "split": ""}

    def render(self, row: Mapping[str, Any]) -> Pcm:
        """The sound of a row."""
        scene, mixdown = from_text(row["scene"]), self.spec.audio.mixdown
        return render(scene, Bank.open(self.library.index), mixdown, row["frames"], row["lead"]).pcm


def _find_labels(scene: Scene, cast: DrawnCast) -> Scene:
    """The scene over names that the cast knows: case and separators do not count."""
    known = [ANY, *cast.categories, *sorted(cast.labels)]
    spelt = {fold_spelling(name): name for name in reversed(known)} | {name: name for name in known}
    named = labels(scene)
    if unknown := [name for name in named if not {name, fold_spelling(name)} & spelt.keys()]:
        names = ", ".join(f"{name!r} ({suggestion(name, known)})" for name in unknown)
        raise PlanError(f"scene: no recording has the label {names}")
    scene = fill_labels(scene, [spelt.get(name) or spelt[fold_spelling(name)] for name in named])
    cast.check(scene, "scene")
    if len(named) > 1:  # what the recipe cannot tell it refuses
        _ = Scenes(expressions={format_scene(scene): 1}).templates
    return scene


def open_studio(source: str | Mapping[str, Any], seed: int) -> Studio:
    """The recordings of a source, kept in the cache of this machine.

    Args:
        source: As in a spec, or as the command line takes it: `esc10:/data/ESC-10`.
    """
    if isinstance(source, str):
        source = {source.partition(":")[0]: parse_source(source).model_dump(mode="json")}
    return _open(canonical_json(source), seed)


@cache
def _open(source: str, seed: int) -> Studio:
    recipe = {Scenes.name: {"captions": _MOST}}
    values = {"corpus": "scene", "seed": seed, "source": json.loads(source), "recipe": recipe}
    spec = parse_spec(YamlFile("scene", values), Path())
    refuse_unheard(spec)
    intake = spec.intake
    processes = None if getattr(intake.source, "reads_files", False) else 0
    with show_progress(as_json=False) as observer, engine(processes) as where:
        library = ingest(intake, cache_folder() / "scenes" / BANKS, where, observer)
    return Studio(spec, library, UsableClips.choose(spec.make_recipe(), library, spec))
