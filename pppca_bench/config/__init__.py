"""From YAML to the ordered list of runs."""
