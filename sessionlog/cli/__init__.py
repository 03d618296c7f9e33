"""The `sessionlog` command: a module for each subcommand."""
