"""A headless Chromium, what its pages ask for and complain of, and pictures of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.conftest import missing
from tests.kit.waiting import PATIENCE_S

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def launched() -> Iterator[Any]:
    """The browser of this machine; skips the test where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing("no Chromium here: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    # Chromium's sandbox does not work for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


class Reader:
    """Opens pages, and remembers what they ask for and complain of."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}} | options)
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def open(self, address: str) -> Any:
        page = self.context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda line: line.type in ("error", "warning") and self.complaints.append(line.text),
        )
        page.goto(address)
        return page

    def close(self, server: str = "") -> None:
        """End it; its pages must have complained of nothing, and asked the server or files alone.

        Args:
            server: Its address; "" where pages are files.
        """
        self.context.close()
        assert self.complaints == []
        assert self.requests
        own = f"{server}/" if server else ("file:", "data:")
        assert [url for url in self.requests if not url.startswith(own)] == []
