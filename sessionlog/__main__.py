"""`python -m sessionlog`."""

from sessionlog.cli.start import main

main()
