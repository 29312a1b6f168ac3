"""Containment of failures. A wrong call is logged as a warning of the logger "pitwall", everything else on its debug level;
each once."""
import logging
import sys

logger = logging.getLogger("pitwall")
MAX_STEP = 1 << 61  # the collector takes less than 2^62
_PUBLIC = frozenset(("init", "finish", "steps", "step", "phase", "mode", "log", "log_classification", "log_experts", "log_images",
                     "log_tokens", "watch", "watch_collectives", "checkpoint", "profile"))
_OF_ARGUMENTS = (TypeError, ValueError, OverflowError, AttributeError, LookupError)
_told = set()


class WrongCall(ValueError):
    """What a public function was given cannot be meant. Its text: cause (value); what to do."""

    def __init__(self, cause, value, advice):
        super().__init__("%s (%s); %s" % (cause, brief(value), advice))


def brief(value):
    """A value in a message: plain ones as they are, others by their type, as their text may be long or wait for a device."""
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value) if not isinstance(value, int) or abs(value) < 1 << 200 else "an int of %d bits" % value.bit_length()
        return text if len(text) <= 80 else text[:77] + "..."
    return "a " + type(value).__name__


def swallow(where):
    """Logs the exception in flight, once for each place and kind; a wrong call once for each message."""
    kind, error = sys.exc_info()[:2]
    if kind is not None and issubclass(kind, WrongCall):
        warn_once("%s: %s", where, str(error))
    elif where in _PUBLIC and kind is not None and issubclass(kind, _OF_ARGUMENTS):
        warn_once("%s: %s; see help(pitwall.%s)", where, str(error)[:300] or kind.__name__, where)
    key = (where, kind)
    if key not in _told and len(_told) < 1000:
        _told.add(key)
        logger.debug("pitwall: %s failed and was ignored", where, exc_info=True)


def warn_once(message, *arguments):
    """Each message with its arguments once; at most 1000 messages of all kinds."""
    key = (message, arguments)
    if key not in _told and len(_told) < 1000:
        _told.add(key)
        logger.warning("pitwall." + message, *arguments)


def tell_once(message, *arguments):
    """Logs what is left out and why, once for each message with its arguments; at most 1000 of them."""
    key = (message, arguments)
    if key not in _told and len(_told) < 1000:
        _told.add(key)
        logger.debug("pitwall: " + message, *arguments)
