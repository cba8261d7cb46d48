"""The registry: what each method and classifier of a config is."""
