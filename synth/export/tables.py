"""Lines of CSV and TSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from synth.base.units import Seconds


def table_line(values: Sequence[str], separator: str = ",") -> bytes:
    """Values as one line, quoted where they hold the separator, a quote or a line break."""
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(values)
    return line.getvalue().encode()


def seconds_text(seconds: Seconds) -> str:
    """Seconds to the microsecond, finer than a frame at any audio rate."""
    return f"{seconds:.6f}"
