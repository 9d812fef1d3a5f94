"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import re
import socket
from pathlib import Path

import pytest

from synth.base import atomic
from synth.base.atomic import PARTIAL_SUFFIX, remove_partials, replacing, write_bytes, write_text
from tests.kit.cases import cases


def tear(path: Path, error: type[BaseException]) -> None:
    with replacing(path) as partial:
        partial.write_text("new, but torn")
        raise error


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    with replacing(path) as partial:
        partial.write_text("half")
        assert not path.exists()
        assert partial.parent == path.parent
        partial.write_text("whole")
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


@cases("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_failure_leaves_the_old_file_and_no_partial(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "file"
    with pytest.raises(error):
        tear(path, error)
    assert list(tmp_path.iterdir()) == []
    write_text(path, "é\n日")
    with pytest.raises(error):
        tear(path, error)
    with pytest.raises(FileNotFoundError), replacing(path):
        pass  # a block that writes nothing
    assert path.read_bytes() == "é\n日".encode()
    assert list(tmp_path.iterdir()) == [path]
    write_bytes(path, b"\x00\r\n")
    assert path.read_bytes() == b"\x00\r\n"


def test_writers_of_two_machines_and_of_one_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared disk: process and thread may be the same numbers on both."""
    names = []
    for machine in ("node-1.cluster/é", "node-2", "n" * 200 + "1", "n" * 200 + "2"):
        monkeypatch.setattr(socket, "gethostname", lambda machine=machine: machine)
        atomic._host.cache_clear()
        with replacing(tmp_path / "file") as partial:
            partial.write_text(machine)
            names.append(partial.name)
            assert partial in tmp_path.glob(f".*{PARTIAL_SUFFIX}"), "swept where its writer dies"
    atomic._host.cache_clear()
    assert len(set(names)) == 4
    assert all(re.fullmatch(r"\.file\.[A-Za-z0-9.-]{1,80}", name) for name in names)


def test_partials_go_and_a_users_own_file_stays(tmp_path: Path) -> None:
    left = tmp_path / f".a.tar.12-1{PARTIAL_SUFFIX}"
    own = tmp_path / "kept.partial"
    for path in (left, own):
        path.write_text("half")
    remove_partials(tmp_path)
    assert list(tmp_path.iterdir()) == [own]


def test_an_error_names_the_file_and_not_its_partial(tmp_path: Path) -> None:
    path = tmp_path / "report.html"

    def write() -> None:
        with replacing(path) as partial:
            raise PermissionError(errno.EACCES, "Permission denied", str(partial))

    with pytest.raises(PermissionError) as caught:
        write()
    assert caught.value.filename == str(path)
