"""Prometheus' text format: exporter responses, and the samples that a scrape stores."""
import re

SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")


def number(value):
    """Formats a float as Go does."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return repr(float(value)).replace("e+0", "e+").replace("e-0", "e-")


class Family:
    """A metric with its metadata and its samples, keyed by the text of their labels."""

    def __init__(self, name, kind, help_text):
        self.name, self.kind, self.help = name, kind, help_text
        self.samples = {}

    def text(self):
        lines = ["# HELP %s %s" % (self.name, self.help), "# TYPE %s %s" % (self.name, self.kind)]
        lines += ["%s%s %s" % (self.name, "{%s}" % labels if labels else "", value if isinstance(value, str) else number(value))
                  for labels, value in self.samples.items()]
        return lines


def families_of(text):
    """Returns {name: Family} for a response."""
    families, help_texts, kinds = {}, {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, help_texts[name] = line[7:].split(" ", 1)[0], line[7:].partition(" ")[2]
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            kinds[name] = kind
        elif line and not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            family = families.setdefault(name, Family(name, kinds.get(name, "untyped"), help_texts.get(name, "")))
            family.samples[labels or ""] = float(value)
    return families


class Scraper:
    """Converts responses to the samples that a scrape stores, each with the target's labels and the time. An exporter label with the same name
    becomes exported_<name>."""

    def __init__(self, labels):
        self.labels = labels
        self._stored = {}  # keyed by the series' text in the response

    def stored(self, series):
        name, own, _ = SAMPLE.match(series + " 0").groups()
        own = own or ""
        for label in self.labels:
            own = re.sub(r'(^|,)%s="' % label, r'\1exported_%s="' % label, own)
        added = ",".join('%s="%s"' % pair for pair in self.labels.items())
        return "%s{%s}" % (name, own + "," + added if own else added)

    def scraped(self, text, time):
        out = []
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            series, _, value = line.rpartition(" ")
            stored = self._stored.get(series)
            if stored is None:
                stored = self._stored[series] = self.stored(series)
            out.append("%s %s %d\n" % (stored, value, int(time * 1000)))
        return out
