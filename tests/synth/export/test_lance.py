"""Lance datasets; tests/peers has them read by pylance."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pipelines.export import export_corpus
from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus


def test_a_missing_package_is_told_with_the_line_that_installs_it(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lance", None)
    with pytest.raises(SpecError, match="needs the package pylance") as told:
        export_corpus(corpus, "lance", tmp_path / "out")
    assert told.value.fix == "pip install 'segue-audio[lance]'"
    assert not (tmp_path / "out").exists()
