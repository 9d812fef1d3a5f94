"""Print what the image installs: pyproject.toml's dependencies, the trainer's only with --trainer.

Run in the folder of pyproject.toml.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

TRAINER = ("torch", "transformers", "tokenizers", "tensorboard")
# What Prefect's server needs to share events between two processes, and workers for a store.
SERVER = ("prefect-redis==0.3.0", "s3fs==2026.9.0")


def requirements(dependencies: list[str], trainer: bool) -> list[str]:
    """The lines of a requirements file.

    Raises:
        ValueError: If a name of the trainer's is no dependency.
    """
    by_name = {re.split(r"[^A-Za-z0-9_.-]", one, maxsplit=1)[0]: one for one in dependencies}
    for name in TRAINER:
        if name not in by_name:
            raise ValueError(f"{name} is no dependency in pyproject.toml; fix TRAINER")
    wanted = [one for name, one in by_name.items() if trainer or name not in TRAINER]
    return [*wanted, *SERVER]


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    print("\n".join(requirements(project["dependencies"], "--trainer" in sys.argv[1:])))
