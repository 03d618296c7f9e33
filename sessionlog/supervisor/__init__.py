"""Lets a reviewer decide whether a session may stop."""
