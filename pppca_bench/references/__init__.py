"""The published numbers and the layouts of their tables."""
