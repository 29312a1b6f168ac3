"""A rule-group case: data, rule sets with their activation times, and the run. Its text form can be replayed."""
import json

from data import STALE, Dataset
from engines import value_text

HOLD = "zzz_hold.yaml"


class Rule:
    """kind: alert or record. name: name of the alert or of the recorded metric. labels, annotations: lists of pairs."""

    def __init__(self, kind, name, expr, hold=0, keep=0, labels=(), annotations=()):
        self.kind = kind
        self.name = name
        self.expr = expr
        self.hold = hold
        self.keep = keep
        self.labels = tuple(labels)
        self.annotations = tuple(annotations)

    def changed(self, **change):
        fields = dict(self.__dict__)
        fields.update(change)
        return Rule(**fields)

    def identity(self, group_labels):
        """Returns the rule's identity. Alerts survive a reload if it is unchanged (plan::Rule::fingerprint)."""
        return (self.kind, self.name, self.expr, self.hold, self.keep, {**dict(group_labels), **dict(self.labels)})

    def text(self):
        lines = ["  - %s: %s" % (self.kind, self.name), "    expr: %s" % json.dumps(self.expr)]
        if self.hold:
            lines.append("    for: %dms" % self.hold)
        if self.keep:
            lines.append("    keep_firing_for: %dms" % self.keep)
        for key, pairs in (("labels", self.labels), ("annotations", self.annotations)):
            if pairs:
                lines.append("    %s: {%s}" % (key, ", ".join("%s: %s" % (n, json.dumps(v)) for n, v in pairs)))
        return lines


class Group:
    def __init__(self, pack, name, interval, rules, limit=0, labels=()):
        self.pack = pack
        self.name = name
        self.interval = interval
        self.rules = list(rules)
        self.limit = limit
        self.labels = tuple(labels)

    def changed(self, **change):
        fields = dict(self.__dict__)
        fields.update(change)
        return Group(**fields)

    def text(self):
        lines = ["- name: " + self.name, "  interval: %dms" % self.interval]
        if self.limit:
            lines.append("  limit: %d" % self.limit)
        if self.labels:
            lines.append("  labels: {%s}" % ", ".join("%s: %s" % (n, json.dumps(v)) for n, v in self.labels))
        lines.append("  rules:")
        for rule in self.rules:
            lines += rule.text()
        return lines

    def rule_names(self):
        """Returns [(pack/group/rule#n, rule)…]."""
        seen, names = {}, []
        for rule in self.rules:
            seen[rule.name] = seen.get(rule.name, 0) + 1
            base = "%s/%s/%s" % (self.pack, self.name, rule.name)
            names.append((base if seen[rule.name] == 1 else "%s#%d" % (base, seen[rule.name]), rule))
        return names


class Version:
    """A rule set that is active at ticks after `start`. kept: rules whose alerts survive its activation."""

    def __init__(self, start, files, kept):
        self.start = start
        self.files = files  # [(name, text)…]
        self.kept = kept

    @staticmethod
    def of(start, groups, before, hold):
        packs = {}
        for group in groups:
            packs.setdefault(group.pack, ["groups:"]).extend(group.text())
        files = [(pack + ".yaml", "\n".join(lines) + "\n") for pack, lines in sorted(packs.items())]

        def identities(of):
            return {name: rule.identity(group.labels) for group in of or () for name, rule in group.rule_names()}
        was = identities(before)
        kept = sorted(name for name, what in identities(groups).items() if was.get(name) == what)
        return Version(start, files + ([(HOLD, hold)] if hold else []), kept)


class GroupCase:
    """A complete case. Times are in milliseconds. restores: ticks after which Pitwall's engine is saved and restored."""

    def __init__(self, dataset, versions, start, end, restores=()):
        self.dataset = dataset
        self.versions = versions
        self.start = start
        self.end = end
        self.restores = tuple(restores)

    def changed(self, **change):
        fields = dict(self.__dict__)
        fields.update(change)
        return GroupCase(**fields)

    def watched(self):
        """Returns True if Pitwall's engine keeps every series, so that all recorded series are visible."""
        return all(any(name == HOLD for name, _ in v.files) for v in self.versions)

    def text(self):
        lines = ["--- run %d %d %s" % (self.start, self.end, ",".join(map(str, self.restores)) or "-")]
        for labels, samples in self.dataset.series:
            lines.append("--- series " + json.dumps(labels))
            lines.append(" ".join("%d:%s" % (t, value if value is STALE else repr(value)) for t, value in samples))
        for version in self.versions:
            lines.append("--- version %d %s" % (version.start, json.dumps(version.kept)))
            for name, text in version.files:
                lines.append("--- file " + name)
                lines.append(text.rstrip("\n"))
        return "\n".join(lines) + "\n"


def parse_case(text):
    """Parses the output of GroupCase.text()."""
    series, versions, run = [], [], None
    for part in ("\n" + text).split("\n--- ")[1:]:
        head, _, body = part.partition("\n")
        kind, _, rest = head.partition(" ")
        if kind == "run":
            run = rest.split(" ")
        elif kind == "series":
            points = [point.split(":") for point in body.split()]
            series.append((json.loads(rest), [(int(t), STALE if v == STALE else float(v)) for t, v in points]))
        elif kind == "version":
            start, _, kept = rest.partition(" ")
            versions.append(Version(int(start), [], json.loads(kept)))
        elif kind == "file":
            versions[-1].files.append((rest, body.rstrip("\n") + "\n"))
        else:
            raise ValueError("unknown part %r" % kind)
    start, end = int(run[0]), int(run[1])
    restores = () if run[2] == "-" else tuple(int(t) for t in run[2].split(","))
    return GroupCase(Dataset(series, start, 1000, end - start, False), versions, start, end, restores)


def oracle_request(case):
    return json.dumps({
        "id": 1, "series": [{"labels": labels, "samples": [[t, value_text(v)] for t, v in samples]}
                            for labels, samples in case.dataset.series],
        "versions": [{"from_ms": v.start, "kept": v.kept,
                      "files": [{"name": n, "text": t} for n, t in v.files if n != HOLD]} for v in case.versions],
        "start_ms": case.start, "end_ms": case.end, "step_ms": 60_000, "subquery_interval_ms": 60_000}) + "\n"


def pitwall_request(case):
    def field(text):
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    lines = ["series\t%d" % len(case.dataset.series)]
    for labels, samples in case.dataset.series:
        fields = [field("%s=%s" % pair) for pair in labels.items()] + ["|"]
        lines.append("\t".join(fields + ["%d:%s" % (t, value_text(v)) for t, v in samples]))
    lines.append("run\t1\t%d\t%d\t60000\t%s\t%d" % (case.start, case.end, ",".join(map(str, case.restores)),
                                                  len(case.versions)))
    for version in case.versions:
        lines.append("version\t%d\t%d" % (version.start, len(version.files)))
        lines += ["file\t%s\t%s" % (name, field(text)) for name, text in version.files]
    return "\n".join(lines) + "\n"
