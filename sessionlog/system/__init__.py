"""Safe use of the operating system: child processes, and files that somebody else may have put there."""
