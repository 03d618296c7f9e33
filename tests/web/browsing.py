"""What the tests of the pages share."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

Serve = Callable[..., str]
Open = Callable[..., Page]
