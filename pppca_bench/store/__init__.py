"""The results database."""

DATABASE = "results.sqlite"
"""File name of the database in a results folder."""
