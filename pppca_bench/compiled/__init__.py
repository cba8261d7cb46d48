"""What the compiled kernels share: compilation, vectors, array types."""
