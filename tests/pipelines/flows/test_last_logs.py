"""What a run logs last reaches the server before the server ends with the run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from prefect import flow, get_run_logger
from prefect.settings import PREFECT_API_URL, PREFECT_LOGGING_TO_API_ENABLED, temporary_settings

from pipelines.flows.servers import own_server
from tests.kit.prefect_database import keep_database, lend_database


@flow
def last_words() -> None:
    get_run_logger().info("the last words")


@pytest.mark.slow
def test_the_last_logs_of_a_run_are_kept_and_no_error_is_shown(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str]
) -> None:
    lend_database(tmp_path, tmp_path_factory)
    with (
        own_server(tmp_path) as address,
        temporary_settings({PREFECT_API_URL: address, PREFECT_LOGGING_TO_API_ENABLED: True}),
    ):
        keep_database(tmp_path, tmp_path_factory)
        last_words()
    with closing(sqlite3.connect(tmp_path / "prefect.db")) as database:
        kept = database.execute("select count(*) from log where message = 'the last words'")
        assert kept.fetchone() == (1,)
    assert "Error logging" not in capfd.readouterr().err
