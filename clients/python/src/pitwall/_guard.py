"""How failures stay inside: each kind is logged once to the logger "pitwall", on its debug level, and ignored."""
import logging
import sys

logger = logging.getLogger("pitwall")
MAX_STEP = 1 << 61  # the collector takes less than 2^62
_told = set()


def swallow(where):
    """Logs the exception in flight, once for each place and kind."""
    key = (where, sys.exc_info()[0])
    if key not in _told and len(_told) < 100:
        _told.add(key)
        logger.debug("pitwall: %s failed and was ignored", where, exc_info=True)


def tell_once(message, *arguments):
    """Logs what is left out and why, once for each message with its arguments; at most 1000 of them."""
    key = (message, arguments)
    if key not in _told and len(_told) < 1000:
        _told.add(key)
        logger.debug("pitwall: " + message, *arguments)
