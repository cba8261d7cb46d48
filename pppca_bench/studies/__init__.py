"""Searches of settings against published cells."""
