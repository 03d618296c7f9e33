"""`python -m sessionlog`."""

from sessionlog.cli import main

main()
