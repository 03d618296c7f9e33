"""Safe use of the operating system: child processes, and files that other users may have put there."""
