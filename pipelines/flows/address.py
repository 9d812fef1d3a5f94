"""Prints the address of the Prefect server that is configured, an empty line for none."""

from __future__ import annotations

from prefect.settings import get_current_settings

if __name__ == "__main__":
    print(get_current_settings().api.url or "")
