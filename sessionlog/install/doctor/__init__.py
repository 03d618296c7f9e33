"""Checks everything that recording depends on, and repairs what can be repaired safely."""
