"""Old name of `builders`."""

from builders import *  # noqa: F403
