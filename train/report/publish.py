"""From a finished run to a folder for others, with a model card: what it is and learnt from."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from synth.base.errors import SpecError
from synth.base.progress import UNOBSERVED, Observer
from synth.corpus.licence import effective_licence, hugging_face_licence, parse_licence
from train.bench.report import metric_lines, split_main_metrics
from train.config.model import TowerConfig, TowerKind
from train.data.recordings import RECORDINGS_FILE
from train.engine.run_folder import LoadedRun, load_run
from train.export.files import ModelFormat, is_hub_name
from train.export.folder import Written, new_folder
from train.export.onnx_model import write_onnx
from train.export.opening import ModelKind, convert_laion, model_kind
from train.export.writing import write_clap, write_safetensors
from train.model.weights import WeightsReceipt, write_receipts
from train.report.results import Learnt, find_learnt, read_evaluations, read_outcome

CARD_FILE: Final = "README.md"


def publish(
    run_folder: Path, out: Path, to: ModelFormat, observer: Observer = UNOBSERVED
) -> Written:
    """Export a finished run, or a LAION-CLAP checkpoint as a ClapModel.

    Returns:
        What was written, with its files.
    """
    checkpoint = run_folder.is_file() and model_kind(run_folder) is ModelKind.CHECKPOINT
    if checkpoint and to is not ModelFormat.TRANSFORMERS:
        raise SpecError(
            f"{run_folder}: a {ModelKind.CHECKPOINT} is exported to transformers only",
            fix=f"use --to {ModelFormat.TRANSFORMERS}",
        )
    with new_folder(out) as folder:
        if checkpoint:
            observer.start("open", 1, "models")
            card, written = convert_laion(run_folder, folder)
            observer.finish("open")
        else:
            card, written = _export_run(run_folder, folder, to, observer)
        (folder / CARD_FILE).write_text(card.replace("FOLDER/", "").replace("FOLDER", "."), "utf-8")
        weights = sorted(folder.glob("*.safetensors"))
        if weights:
            write_receipts(folder, {path.name: [WeightsReceipt.of(path)] for path in weights})
        files = {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    return replace(written, opener=written.opener.replace("FOLDER", str(out)), files=files)


def _export_run(
    run_folder: Path, folder: Path, to: ModelFormat, observer: Observer
) -> tuple[str, Written]:
    """The model card of a run, and what was written."""
    observer.start("open", 1, "models")
    run = load_run(run_folder)
    observer.finish("open")
    written: Written
    match to:
        case ModelFormat.TRANSFORMERS:
            written = write_clap(run, folder)
        case ModelFormat.SAFETENSORS:
            written = write_safetensors(run, folder)
        case ModelFormat.ONNX:
            written = write_onnx(run, folder, observer)
    recordings = run_folder / RECORDINGS_FILE
    if to is not ModelFormat.ONNX and recordings.is_file():  # `segue eval` looks for them
        shutil.copyfile(recordings, folder / RECORDINGS_FILE)
    return model_card(run_folder, run, written), written


_TAGS: Final = ("clap", "audio", "audio-text-retrieval", "segue")
_TASK: Final = "zero-shot-audio-classification"


def model_card(folder: Path, run: LoadedRun, written: Written) -> str:
    """The card as Markdown, with the front matter of huggingface.co."""
    learnt = find_learnt(run.config, read_outcome(folder).digests)
    name = folder.resolve().name
    parts = (
        f"# {name}",
        f"A CLAP model: sounds and texts as unit-length vectors of {run.config.model.dim} numbers, "
        "close to each other if the text describes the sound. Segue trained and exported it.",
        "## How to use it",
        written.usage.replace("RATE", str(run.sample_rate)).strip("\n"),
        _describe_sounds(run),
        "## Training",
        *map(_describe_corpus, learnt),
        _describe_settings(run),
        *_describe_results(folder),
    )
    front = yaml.safe_dump(_front_matter(run, learnt, written), sort_keys=False).strip()
    return f"---\n{front}\n---\n" + "\n\n".join(parts) + "\n"


def _front_matter(run: LoadedRun, learnt: Sequence[Learnt], written: Written) -> dict[str, Any]:
    model = run.config.model
    bases = sorted({tower.name for tower in (model.audio, model.text) if tower.name})
    facts: dict[str, Any] = {
        "library_name": written.library,
        "pipeline_tag": _TASK,
        "tags": list(_TAGS),
        "language": "en",
    }
    corpora = [entry.corpus for entry in learnt if entry.corpus is not None]
    # What a base model learnt from is not known.
    if len(corpora) == len(learnt) and not bases:
        whole = effective_licence(parse_licence(part.facts.get("licence", "")) for part in corpora)
        facts["license"] = hugging_face_licence(whole.licence)
    on_hub = [base for base in bases if is_hub_name(Path(base))]
    if on_hub:
        facts["base_model"] = on_hub
    return facts | {"datasets": [entry.name for entry in learnt]}


def _describe_sounds(run: LoadedRun) -> str:
    longest = run.model.audio_tower.longest
    length = "any length" if longest is None else f"at most {longest / run.sample_rate:g} s"
    return (
        f"It takes mono sounds at {run.sample_rate:,} Hz of {length}. A shorter sound is padded "
        "with silence, never looped: a loop would make captions that tell order false."
    )


def _describe_corpus(learnt: Learnt) -> str:
    sentence = f"It learnt from the corpus `{learnt.name}`"
    if learnt.share:
        sentence = f"Of every batch {learnt.share} came from the corpus `{learnt.name}`"
    if learnt.corpus is not None:
        facts = learnt.corpus.facts
        sentence += f", version `{learnt.corpus.version}`, recipe `{facts['recipe']}`, source "
        sentence += f"`{facts['source']}`"
        # What is mixed in may be the plain captions of a library.
        is_proven = not learnt.share and facts["recipe"] != "clips"
        sentence += ", whose captions are proven true of their sounds. " if is_proven else ". "
        reason = facts.get("licence_reason")
        sentence += (
            f"There is no one licence for all its samples together: {reason}"
            if reason
            else f"A work of all clips of the corpus can be under {facts.get('licence', 'unknown')}"
        )
    sentence += "."
    return f"{sentence} Its digest is `{learnt.digest}`." if learnt.digest else sentence


def _describe_settings(run: LoadedRun) -> str:
    config = run.config
    model = config.model
    parameters = sum(parameter.numel() for parameter in run.model.parameters())
    rates = [f"{group} {rate:g}" for group, rate in config.lr_of.items()]
    rows = {
        "audio tower": _describe_tower(model.audio),
        "text tower": _describe_tower(model.text),
        "audio token": f"{model.audio.chunk_s:g} s ({model.audio.tokens})",
        "head": str(model.head.kind),
        "parameters": f"{parameters:,}",
        "trained": ", ".join(model.trainable),
        "losses": ", ".join(dict.fromkeys(stage.loss.name for stage in config.stages)),
        "steps": f"{config.steps:,} of {config.batch:,} samples",
        "learning rate": ", ".join([f"{config.lr:g}", *rates]),
        "seed": str(config.seed),
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {of} |" for name, of in rows.items())])


def _describe_tower(tower: TowerConfig) -> str:
    if tower.kind == TowerKind.SMALL:
        return str(tower.kind)
    if tower.kind != TowerKind.TRANSFORMERS:
        return f"`{tower.kind}`, of a package that must be installed to open the model"
    # Where a folder lies on the machine of the training is nobody else's concern.
    name = tower.name if is_hub_name(Path(tower.name)) else Path(tower.name).name
    adapters = "" if tower.lora is None else f", trained by LoRA of rank {tower.lora.rank}"
    return f"`{name}`{adapters}"


def _describe_results(folder: Path) -> list[str]:
    """A table for each test of the weights that were exported."""
    parts = []
    for tested in read_evaluations(folder):
        if not tested.other_weights:
            main, _ = split_main_metrics(tested.metrics)
            parts += [f"### {tested.name}", "\n".join(metric_lines(main))]
    return ["## Results", *parts] if parts else []
