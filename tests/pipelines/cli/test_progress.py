"""Long work on a corpus tells how far it is, in its own units, and what to do next."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pipelines.builder.build import build
from pipelines.checks.leakage import compare_splits
from pipelines.cli.common.progress_display import show_progress
from pipelines.cli.look.audit import audit_command
from pipelines.cli.look.versions import gc_command
from pipelines.cli.texts.probe import probe_command
from pipelines.config.spec import Spec
from pipelines.look.inspection import draw, verify
from synth.base.progress import tell_damage
from synth.corpus.corpus import Corpus
from tests.kit.builds import invoke
from tests.kit.observers import Phases

TEXTS = "audiocap_id,caption\n1,a dog barks before rain falls\n2,rain falls\n"


def run(command: Callable[..., Any], *arguments: object) -> Result:
    done = invoke(command, *arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done


def test_a_second_build_counts_what_is_there(
    tiny_corpus: Path, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "out")
    next((tmp_path / "out" / "shards").rglob("*.tar")).unlink()
    phases = Phases()
    build(tiny(), tmp_path / "out", 0, phases)
    assert phases.ended == ["ingest", "render"]
    assert phases.total == {"ingest": 20, "render": 12}
    assert phases.before == {"ingest": 20, "render": 11}


def test_checks_count_shards_samples_and_clips(manifests: Path) -> None:
    phases = Phases()
    verify(Corpus.open(manifests), draw(manifests, 2), phases)
    compare_splits(manifests, phases)
    assert phases.ended == ["bank", "verify", "rebuild", "compare"]
    assert phases.total == {"bank": 1, "verify": 12, "rebuild": 2, "compare": 12}


def test_what_was_mended_is_told_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for as_json in (False, True):
        with show_progress(as_json) as observer:
            tell_damage(observer, ["a.parquet: differs"], "made again")
    shown = capsys.readouterr()
    assert shown.err == "mend: made again: a.parquet: differs\n"
    assert json.loads(shown.out)["note"] == "made again: a.parquet: differs"


def test_no_terminal_gets_plain_lines_with_the_next_command_at_the_end(
    manifests: Path, tmp_path: Path
) -> None:
    captions, out = tmp_path / "my captions.csv", tmp_path / "my set.parquet"
    captions.write_text(TEXTS)
    commands = [
        (run(audit_command, manifests), ["segue", "train", str(manifests)]),
        (
            run(probe_command, "pte", captions, "--out", out),
            ["segue", "eval", "MODEL", str(out), "--audio", "FOLDER"],
        ),
        (run(gc_command, manifests, "--keep", "1"), ["segue", "versions", str(manifests)]),
    ]
    for done, following in commands:
        assert not {"\x1b", "\r"} & set(done.output)
        last = done.stdout.splitlines()[-1]
        assert shlex.split(last.removeprefix("next: ")) == following
