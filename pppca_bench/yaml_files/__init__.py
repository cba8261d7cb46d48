"""YAML files: plain values with line numbers, and models that validate them."""
