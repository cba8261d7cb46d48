"""Experiment configs, and their expansion into ordered runs."""
