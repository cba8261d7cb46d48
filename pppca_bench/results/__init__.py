"""Stored runs as a data frame, and the statistics of their repeats."""
