"""Carry out a plan: run cells, in processes, and record what comes of them."""
