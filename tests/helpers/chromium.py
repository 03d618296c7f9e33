"""The Chromium of this machine."""

from __future__ import annotations

import os
import shutil

# The shell first: it has no window around the page, and a new context costs a fifth of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
