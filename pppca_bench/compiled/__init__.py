"""Compilation, vector operations and array types of the kernels."""
