"""The results database."""

DATABASE = "results.sqlite"
"""File name of the database in a results folder."""

RESULTS = "pppca-results"
"""Default results folder, in the working directory. A clone's `results` is versioned: only `make` writes there."""

BY_CONFIG = "by_config"
"""Subfolder of the results with a folder of tables for each config."""
