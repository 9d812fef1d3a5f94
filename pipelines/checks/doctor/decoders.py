"""What reads audio files, and what tags words."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from typing import Final

import numpy as np

from pipelines.checks.doctor.check import CheckState, DoctorCheck
from pipelines.checks.doctor.module_output import SilentModuleError, run_module
from pipelines.checks.doctor.packages import EXTRAS, find_version
from synth.text.grammar.tagger import SPACY_MODEL

TIMEOUT_S: Final = 10.0
RATE: Final = 16_000
_TORCHCODEC: Final = "torchcodec"
_FORMATS: Final = (
    ("FLAC", CheckState.WRONG),
    ("OGG", CheckState.MISSING),
    ("MP3", CheckState.MISSING),
)


def check_decoders() -> Iterator[DoctorCheck]:
    """Of libsndfile by format, ffmpeg, spaCy's model, and torchcodec where it is installed."""
    yield from map(_check_sndfile, *zip(*_FORMATS, strict=True))
    yield _check_program("ffmpeg")
    yield _check_tagger()
    if find_version(_TORCHCODEC) is not None:
        yield _check_torchcodec()


def _check_torchcodec() -> DoctorCheck:
    """Whether it finds ffmpeg's libraries and fits torch: only importing it tells."""
    try:
        run_module(f"{_TORCHCODEC}.version")
        fault = ""
    except SilentModuleError:
        fault = "does not load: ffmpeg's libraries are missing, or it was built for another torch"
    return DoctorCheck.of(
        _TORCHCODEC,
        find_version(_TORCHCODEC) or "",
        EXTRAS["hf"],
        fault,
        "apt install ffmpeg, then pip install -c constraints.txt 'segue-audio[hf]'",
    )


def _check_sndfile(form: str, state: CheckState) -> DoctorCheck:
    """Whether a sound survives being written and read."""
    needed_for = "every shard" if form == "FLAC" else f"sound libraries in {form}"
    try:
        import soundfile

        written = io.BytesIO()
        soundfile.write(written, np.zeros(RATE, np.float32), RATE, format=form)
        written.seek(0)
        samples, _ = soundfile.read(written)
        fault = "" if len(samples) else f"{form} is written, but reads back empty"
        version = soundfile.__libsndfile_version__
    except (ImportError, OSError, RuntimeError, ValueError, TypeError) as error:
        fault, version = f"{form} cannot be written and read: {error}", ""
    fix = "pip install -U soundfile, which brings libsndfile 1.2"
    return DoctorCheck.of(f"libsndfile {form}", version, needed_for, fault, fix, state)


def _check_program(name: str) -> DoctorCheck:
    path = shutil.which(name)
    found, fault = "", "not found"
    if path is not None:
        try:
            done = subprocess.run(
                [path, "-version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
            )
            found, fault = " ".join(done.stdout.split()[:3]), ""
        except (OSError, subprocess.SubprocessError) as error:
            fault = f"{path} does not run: {error}"
    needed_for = "m4a, wma, webm and aac files; they are quarantined without it"
    fix = "apt install ffmpeg, brew install ffmpeg or conda install ffmpeg"
    return DoctorCheck.of(name, found, needed_for, fault, fix)


def _check_tagger() -> DoctorCheck:
    version = metadata.version("spacy") if find_spec("spacy") else ""
    there = bool(version) and find_spec(SPACY_MODEL) is not None
    found = f"spaCy {version}, {SPACY_MODEL} {find_version(SPACY_MODEL) or ''}".strip()
    fault = "" if there else f"{SPACY_MODEL} is not installed" if version else "no spaCy"
    needed_for = "segue text probe and negate; without it the embedded tagger is used"
    download = f"python -m spacy download {SPACY_MODEL}"
    fix = download if version else f"pip install 'segue-audio[nlp]', then {download}"
    return DoctorCheck.of("word tagger", found, needed_for, fault, fix)
