"""What lies among the sounds and is no regular file is refused at once."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from synth.base.errors import ClipError
from synth.sources.own.folder import FolderSource
from synth.sources.reading.files import read_recording


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    # Opening it waited for a writer until the decoder was killed after 60 s.
    (tmp_path / "dog").mkdir()
    os.mkfifo(tmp_path / "dog" / "pipe.wav")
    source = FolderSource(root=tmp_path)
    (ref,) = source.refs()
    with pytest.raises(ClipError, match="is not a regular file"):
        source.load(ref)


def test_a_socket_and_a_device_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("dog.wav")
        with pytest.raises(ClipError, match="is not a regular file"):
            read_recording(Path("dog.wav"))
    endless = tmp_path / "endless.wav"
    endless.symlink_to("/dev/zero")
    with pytest.raises(ClipError, match="is not a regular file"):
        read_recording(endless)


def test_a_link_to_a_sound_is_followed_and_one_to_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").write_bytes(b"")
    (tmp_path / "link.wav").symlink_to(tmp_path / "empty.wav")
    (tmp_path / "gone.wav").symlink_to(tmp_path / "nothing.wav")
    for name, told in (("link.wav", "empty"), ("gone.wav", "the file is missing")):
        with pytest.raises(ClipError, match=told):
            read_recording(tmp_path / name)
