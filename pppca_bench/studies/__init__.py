"""Searches for settings, scored by published cells."""
