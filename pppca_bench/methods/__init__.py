"""Registry of methods and classifiers, their protocol and their config sections."""
