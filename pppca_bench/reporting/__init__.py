"""Stored runs to tables, comparisons, rankings and figures."""
