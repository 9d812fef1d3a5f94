"""What peers are asked for, each in its own way, and the proof that they made it.

- **pydub**: slices of files, joined by a crossfade or laid over silence. WAV is what it does best:
  FLAC starts an ffmpeg for every file.
- **lhotse**: cuts mixed at their offsets, saved as FLAC; it has no crossfade. Recordings are
  described once, as in a lhotse manifest, before the clock starts.
- **acba_script**: what the ACBA paper's authors do for a pair, written anew: librosa loads both
  clips at the rate that is asked for, a linear ramp joins them, soundfile writes the sum.
- **scaper**: a foreground event for every sound, at its time, with its JAMS annotation; WAV. It has
  no crossfade; fades of its length are the nearest. Levels are relative to a background that is not
  there, as it wants them.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import soundfile

from benchmarks.core.turn import Done, Job, Stopwatch, Work

Item: TypeAlias = dict[str, Any]
Maker: TypeAlias = Callable[[Item, Path], object]
"""Reads an item's files, mixes them, and writes the result to the path."""

WARM: Final = 2


def prepare(job: Job) -> Work:
    """Make all items of a job; the first two are made once before the clock starts."""
    items = json.loads(Path(job["items"]).read_text(encoding="utf-8"))
    make: Maker = MAKERS[job["peer"]](items)
    folders = [Path(job["out"]) / name for name in ("warm", "measured")]
    for folder in folders:
        folder.mkdir()
    warm, files = ([out / f"{item['id']}.{job['format']}" for item in items] for out in folders)
    for item, file in zip(items[:WARM], warm, strict=False):
        make(item, file)

    def work(watch: Stopwatch) -> Done:
        with watch:
            for item, file in zip(items, files, strict=True):
                make(item, file)
        seconds = 0.0
        for file in files:
            info = soundfile.info(file)
            if info.samplerate != items[0]["rate"]:
                raise RuntimeError(f"{file}: {info.samplerate} Hz")
            seconds += info.frames / info.samplerate
        return Done(len(set(files)), seconds)

    return work


def _pydub(_: list[Item]) -> Maker:
    from pydub import AudioSegment

    def cut(event: dict[str, Any]) -> Any:
        start = round(event["start_s"] * 1000)
        whole = AudioSegment.from_wav(event["file"])
        return whole[start : start + round(event["seconds"] * 1000)].apply_gain(event["gain_db"])

    def make(item: Item, path: Path) -> None:
        parts = [cut(event) for event in item["events"]]
        if item["joined"]:
            mixed = parts[0].append(parts[1], crossfade=round(item["crossfade_s"] * 1000))
        else:
            length = round(item["frames"] / item["rate"] * 1000)
            mixed = AudioSegment.silent(length, frame_rate=item["rate"])
            for event, part in zip(item["events"], parts, strict=True):
                mixed = mixed.overlay(part, position=round(event["onset_s"] * 1000))
        mixed.export(path, format=path.suffix[1:]).close()

    return make


def _lhotse(items: list[Item]) -> Maker:
    from lhotse import Recording  # type: ignore[import-untyped]

    files = {event["file"] for item in items for event in item["events"]}
    cuts = {file: Recording.from_file(file).to_cut() for file in sorted(files)}

    def make(item: Item, path: Path) -> None:
        mixed = None
        for event in sorted(item["events"], key=lambda event: event["onset_s"]):
            cut = cuts[event["file"]].truncate(offset=event["start_s"], duration=event["seconds"])
            cut = cut.perturb_volume(10 ** (event["gain_db"] / 20))
            mixed = (
                cut
                if mixed is None
                else mixed.mix(cut, offset_other_by=event["onset_s"], allow_padding=True)
            )
        assert mixed is not None
        mixed.pad(duration=item["frames"] / item["rate"]).save_audio(path)

    return make


def _acba_script(_: list[Item]) -> Maker:
    import librosa

    def make(item: Item, path: Path) -> None:
        rate = item["rate"]
        first, second = (
            librosa.load(
                clip["file"], sr=rate, mono=True, offset=clip["start_s"], duration=clip["seconds"]
            )[0]
            * 10 ** (clip["gain_db"] / 20)
            for clip in item["events"]
        )
        fade = round(item["crossfade_s"] * rate)
        ramp = np.linspace(0.0, 1.0, fade, dtype=np.float32)
        seam = first[-fade:] * (1 - ramp) + second[:fade] * ramp
        joined = np.concatenate([first[:-fade], seam, second[fade:]])
        loudest = float(np.max(np.abs(joined)))
        soundfile.write(path, joined / max(1.0, loudest), rate, subtype="PCM_16")

    return make


def _scaper(_: list[Item]) -> Maker:
    import scaper  # type: ignore[import-not-found]

    warnings.filterwarnings("ignore")

    def make(item: Item, path: Path) -> None:
        root = str(Path(item["events"][0]["file"]).parents[1])
        composer = scaper.Scaper(item["frames"] / item["rate"], root, root, random_state=0)
        composer.sr, composer.ref_db = item["rate"], -30
        composer.fade_in_len = composer.fade_out_len = item["crossfade_s"] or 0.01
        for event in item["events"]:
            composer.add_event(
                label=("const", event["label"]),
                source_file=("const", event["file"]),
                source_time=("const", event["start_s"]),
                event_time=("const", event["onset_s"]),
                event_duration=("const", event["seconds"]),
                snr=("const", 10.0),
                pitch_shift=None,
                time_stretch=None,
            )
        composer.generate(str(path), str(path.with_suffix(".jams")), allow_repeated_source=True)

    return make


MAKERS: Final[dict[str, Callable[[list[Item]], Maker]]] = {
    "pydub": _pydub,
    "lhotse": _lhotse,
    "acba_script": _acba_script,
    "scaper": _scaper,
}
