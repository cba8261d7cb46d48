"""The results database."""

DATABASE = "results.sqlite"
"""File name of the database in a results folder."""

RESULTS = "pppca-results"
"""Default results folder, in the working directory. A clone's `results` is versioned: only `make` writes there."""
