"""Libraries that are installed only by those who want them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from causewatch.errors import CausewatchError, shorten

__all__ = ["MissingExtraError", "needed"]


class MissingExtraError(CausewatchError, ImportError):
    """A library is not installed that is no part of the plain installation."""


def needed(module: str, extra: str) -> ModuleType:
    """A module of another library; a sentence that says what to install if it is not there.

    Parameters
    ----------
    module
        Its full name.
    extra
        The extra of causewatch that installs it.
    """
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != library:
            raise  # the library is there, but something that it needs is not
        msg = f"{library} is not installed; install it with: pip install 'causewatch[{extra}]'."
        raise MissingExtraError(msg, name=error.name) from error
    except (ImportError, OSError) as error:
        reason = shorten(str(error)) or type(error).__name__
        msg = f"{library} is installed but cannot be loaded ({reason}); install it again."
        raise MissingExtraError(msg, name=library) from error
