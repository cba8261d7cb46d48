"""The ``pppca`` command."""
