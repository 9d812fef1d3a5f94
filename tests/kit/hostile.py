"""A source whose clips hang, crash or devour what opens them; it travels to other processes."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from synth.base.errors import ClipError, SourceError
from synth.sources import ClipRef, Recording

RATE = 8_000


@dataclass(frozen=True)
class Hostile:
    """One clip a word of `clips`; `folder` is told which were opened, and by whom."""

    name: ClassVar[str] = "hostile"
    reads_files: ClassVar[bool] = True
    clips: tuple[str, ...]
    folder: Path

    def refs(self) -> Iterator[ClipRef]:
        for number, deed in enumerate(self.clips):
            refusal = "its index says that it is gone" if deed == "refused" else ""
            place = f"{number}-{deed}"
            yield ClipRef(f"hostile/{place}", place, (deed,), refusal=refusal)

    def stamp(self, ref: ClipRef) -> str:
        return ""

    def opened(self) -> list[str]:
        """Locations of the clips that were opened, in order."""
        path = self.folder / "opened"
        return path.read_text().split() if path.exists() else []

    def load(self, ref: ClipRef) -> Recording:
        with (self.folder / "opened").open("a") as file:
            file.write(f"{ref.location}\n")
        number, deed = ref.location.split("-")
        match deed:
            case "burns":
                self._start("import time; time.sleep(600)")
                while True:
                    pass
            case "delegates":  # as to ffmpeg
                self._start("while True: pass").wait()
            case "hangs" if not self._in_hurry:
                self._start("import time; time.sleep(600)").wait()
            case "waits":
                time.sleep(2.5)
            case "pauses":
                resume = "import os, signal, time; time.sleep(2); os.kill({}, signal.SIGCONT)"
                self._start(resume.format(os.getpid()))
                os.kill(os.getpid(), signal.SIGSTOP)
            case "imports":
                listed = "\n".join(sorted(sys.modules))
                (self.folder / f"{ref.location}.modules").write_text(listed)
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "aborts":
                os.abort()
            case "disk":
                raise OSError(errno.ESTALE, "Stale file handle", "a.wav")
            case "thread":
                raise RuntimeError("can't start new thread")
            case "library":
                raise ImportError("libfoo.so: cannot open shared object file")
            case "memory":
                resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
                np.zeros(1 << 30)
            case "unlucky":
                marker = self.folder / f"{ref.location}.seen"
                if not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            case "segfaults":
                ctypes.string_at(0)
            case "eats":
                meals = []
                while True:
                    meals.append(np.zeros(1 << 25))
            case "raises":
                raise IndexError("a fault of the decoder's own")
            case "gone":
                raise ClipError("is not there")
            case "broken":
                raise SourceError("the table cannot be read", fix="get it again")
            case "slow" if not self._in_hurry:
                time.sleep(0.02)
        audio = np.random.default_rng(int(number)).uniform(-0.5, 0.5, RATE).astype(np.float32)
        return Recording(audio, RATE, 1, f"{ref.location}")

    @property
    def _in_hurry(self) -> bool:
        return (self.folder / "hurry").exists()

    def _start(self, program: str) -> subprocess.Popen[bytes]:
        """Another process, beside this one; the pids of both are noted."""
        _note(self.folder / "pids", os.getpid())
        process = subprocess.Popen([sys.executable, "-c", program])
        _note(self.folder / "pids", process.pid)
        return process


def _note(path: Path, number: int) -> None:
    with path.open("a") as file:
        file.write(f"{number}\n")


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
