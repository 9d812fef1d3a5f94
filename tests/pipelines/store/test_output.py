"""What a tool writes never replaces what it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.export import write_caption_file
from pipelines.store.places import check_output
from synth.base.errors import SourceError, SpecError
from synth.captions.caption import Style


def test_an_output_is_a_parquet_file_by_its_name_and_no_input(tmp_path: Path) -> None:
    # `segue text probe nv a.csv --out a.csv` turned the captions into Parquet.
    with pytest.raises(SpecError, match="is the input file"):
        check_output(tmp_path / "x" / ".." / "a.parquet", None, tmp_path / "a.parquet")
    with pytest.raises(SpecError, match="Parquet") as caught:
        check_output(tmp_path / "a.csv")
    assert "a.parquet" in caught.value.fix
    check_output(tmp_path / "a.parquet", tmp_path / "b.parquet")


def test_tags_of_which_none_can_be_said_are_an_error_and_no_empty_file(tmp_path: Path) -> None:
    source, out = tmp_path / "tags.csv", tmp_path / "out.parquet"
    source.write_text("id,tags\na,qwxz zzyx\nb,blorpish\n", encoding="utf-8")
    with pytest.raises(SourceError, match="blorpish"):
        write_caption_file(source, out, Style.NATURAL, 3, 2, 0)
    assert not out.exists()
