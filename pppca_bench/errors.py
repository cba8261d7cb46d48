"""The errors that a user can cause, each turned into one line and an exit code by the command line."""


class PppcaError(Exception):
    """Base of all errors with a message meant for the user."""


class ConfigError(PppcaError):
    """A config file cannot be read or breaks a rule; the message names file and line."""


class DataError(PppcaError):
    """A problem's data are missing, damaged or malformed; the message names file and line."""


class StoreError(PppcaError):
    """The results database cannot be opened, read or written."""


class UnknownNameError(PppcaError):
    """A name that the user typed names nothing: a mistake of usage, whichever layer finds it."""


class UnknownProblemError(DataError, UnknownNameError):
    """No problem has that name."""


class UnknownConfigError(StoreError, UnknownNameError):
    """No config of that name was ever run into the results database."""
