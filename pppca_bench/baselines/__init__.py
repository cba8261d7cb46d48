"""Textbook methods to compare with: reductions, selections, and systems that classify by themselves."""
