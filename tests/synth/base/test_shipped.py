"""Lexicons are found wherever a script is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_folder_of_corpora_does_not_hide_the_lexicons(tmp_path: Path) -> None:
    (tmp_path / "data_manifests" / "corpus").mkdir(parents=True)
    (tmp_path / "script.py").write_text(
        "from synth.labels.lexicon import are_kin; print(are_kin('Dog', 'Bark'))"
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
