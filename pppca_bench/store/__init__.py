"""The results database."""

DATABASE = "results.sqlite"
"""Its name in the folder of the results."""
