"""`python -m sessionlog`."""

from sessionlog.cli.main import main

main()
