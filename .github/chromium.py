"""Prints where the Chromium of Playwright is, for the tests that open a browser."""

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
