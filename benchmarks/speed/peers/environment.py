"""The environment in which peers run: made once, remade when its requirements change."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
REQUIREMENTS: Final = HERE / "requirements.txt"
NO_DEPS: Final = HERE / "requirements-no-deps.txt"
STAMP: Final = "requirements"
NAMES: Final = ("lhotse", "librosa", "numpy", "pydub", "scaper", "soundfile", "webdataset")


def peers_python(folder: Path) -> Path:
    """The interpreter that has the peers; installs them from PyPI where it is not there.

    Raises:
        SystemExit: If Debian's `sox`, which scaper runs, is not installed.
    """
    if shutil.which("sox") is None:
        raise SystemExit("scaper needs sox: apt-get install sox; or run with --no-peers")
    python = folder / "bin" / "python"
    requirements = REQUIREMENTS.read_text(encoding="utf-8") + NO_DEPS.read_text(encoding="utf-8")
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == requirements:
        return python
    print(f"peers: installing into {folder} (lhotse brings torch: some minutes)", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--progress-bar", "off"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    subprocess.run([*pip, "--no-deps", "-r", str(NO_DEPS)], check=True)
    stamp.write_text(requirements, encoding="utf-8")
    return python


def peer_versions(python: Path) -> dict[str, str]:
    """Of the peers and of what they compute with."""
    code = (
        "import json; from importlib.metadata import version; "
        f"print(json.dumps({{name: version(name) for name in {NAMES!r}}}))"
    )
    ran = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    versions: dict[str, Any] = json.loads(ran.stdout)
    return {name: str(number) for name, number in versions.items()}
