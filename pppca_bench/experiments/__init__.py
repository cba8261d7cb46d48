"""Execution of plans: cells, workers, the runner, checks of the environment."""
