"""Conversion of milliseconds to PromQL durations."""

_UNITS = ((3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))


def duration(ms):
    if ms < 0:
        return "-" + duration(-ms)
    text = ""
    for size, unit in _UNITS:
        if ms >= size:
            text += "%d%s" % (ms // size, unit)
            ms %= size
    return text or "0s"
