"""Tick-by-tick comparison of two results of a rule-group case: rule failures; alerts with state, times, values, labels, and annotations; recorded
series; and the events of Pitwall's engine."""
import math

from compare import same_number

HIDDEN = ("hold:",)  # series recorded by the rules in group_case.HOLD; the oracle does not have them
LABELS = "labelset after applying"


class Counts:
    """Groups in which each event occurred. They reveal runs in which nothing happens."""

    NAMES = ("pending", "fired", "resolved", "kept", "limited", "failed", "recorded", "marked", "reloaded", "restored",
             "ended by a reload", "refired")

    def __init__(self):
        self.groups = {name: set() for name in self.NAMES}

    def add(self, name, rule):
        self.groups[name].add(rule.rsplit("/", 1)[0])


def difference(case, ours, theirs, counts):
    """Returns None if the results agree, otherwise a one-line description of the difference."""
    for who, answer in (("ours", ours), ("theirs", theirs)):
        if answer.get("error"):
            return "%s cannot run: %s" % (who, answer["error"])
    return _Comparison(case, ours, theirs, counts).run()


class _Comparison:
    def __init__(self, case, ours, theirs, counts):
        self.case = case
        self.ours = ours
        self.theirs = theirs
        self.counts = counts
        self.firing = {}  # rule -> {labels: its state in the oracle}
        self.resolved = set()

    def run(self):
        reloads = {reload["t"]: reload["events"] for reload in self.ours["reloads"]}
        versions = [v for v in self.case.versions[1:] if v.start < self.case.end]
        wanted = self.theirs["ticks"] or []
        mine = {tick["t"]: tick for tick in self.ours["ticks"]}
        extra = set(mine) - {tick["t"] for tick in wanted}
        for t in sorted(extra):  # only the hold rules
            tick = mine[t]
            if not self._empty(tick):
                return "unexpected tick at %d ms" % t
        at = 0
        for tick in wanted:
            while at < len(versions) and versions[at].start < tick["t"]:
                mismatch = self._reload(versions[at], reloads.get(versions[at].start, []))
                if mismatch:
                    return mismatch
                at += 1
            if tick["t"] not in mine:
                return "no tick at %d ms" % tick["t"]
            mismatch = self._tick(mine[tick["t"]], tick)
            if mismatch:
                return "at %d ms: %s" % (tick["t"], mismatch)
        return None

    @staticmethod
    def _empty(tick):
        return not (any("/hold" not in rule for rule, _ in tick["failed"]) or any(a for _, a in tick["alerts"]) or
                    tick["events"] or any(not _hidden(labels) for _, _, labels in tick["rec"]))

    def _tick(self, mine, wanted):
        mismatch = self._failures(mine, wanted) or self._recorded(mine, wanted)
        if mismatch:
            return mismatch
        theirs = dict(wanted["alerts"])
        ours = dict(mine["alerts"])
        found, ended = {}, {}
        for rule in sorted(set(theirs) | set(ours)):
            before = self.firing.get(rule, {})
            now = {}
            expected = {tuple(a[4]): a for a in theirs.get(rule, ())}
            mismatch = self._alerts(rule, {tuple(a[4]): a for a in ours.get(rule, ())}, expected)
            if mismatch:
                return mismatch
            for labels, alert in expected.items():
                self.counts.add("pending" if alert[0] == "pending" else "fired", rule)
                if alert[6]:
                    self.counts.add("kept", rule)
                if alert[0] == "firing":
                    now[labels] = alert
                    if int(alert[2]) == wanted["t"]:
                        found[rule, labels] = alert
                        if (rule, labels) in self.resolved:
                            self.counts.add("refired", rule)
            for labels, alert in before.items():
                if labels not in now:
                    ended[rule, labels] = alert
                    self.resolved.add((rule, labels))
                    self.counts.add("resolved", rule)
            self.firing[rule] = now
        return self._events(mine["events"], found, ended, wanted["t"], "")

    def _failures(self, mine, wanted):
        ours = {rule: text for rule, text in mine["failed"] if "/hold" not in rule}
        theirs = dict(wanted["failed"])
        for rule, text in theirs.items():
            self.counts.add("limited" if "exceeded limit" in text else "failed", rule)
        if set(ours) != set(theirs):
            return "failed: %s, expected %s" % (ours, theirs)
        for rule, text in theirs.items():
            if ("exceeded limit" in text or LABELS in text) and text != ours[rule]:
                return "rule %s reports %r, expected %r" % (rule, ours[rule], text)
        return None

    def _recorded(self, mine, wanted):
        if not self.case.watched():
            return None  # series without a reader are not kept, so only alerts and events are compared
        ours = {}
        for t, value, labels in mine["rec"]:
            if not _hidden(labels):
                ours.setdefault(tuple(labels), (t, value))  # if two values have the same time, the first is kept
        theirs = {tuple(labels): (t, v) for t, v, labels in wanted["rec"]}
        for labels, (t, value) in theirs.items():
            if labels not in ours:
                return "no sample recorded for %s, expected %s" % (_text(labels), value)
            if ours[labels][0] != t:
                return "%s recorded at %s, expected %s" % (_text(labels), ours[labels][0], t)
            if not _same(ours[labels][1], value):
                return "%s is %s, expected %s" % (_text(labels), ours[labels][1], value)
        for labels in ours:
            if labels not in theirs:
                return "unexpected recorded sample %s = %s" % (_text(labels), ours[labels][1])
        for rule in {rule for rule, _ in wanted["alerts"]} if theirs else ():
            self.counts.add("recorded", rule)
        if any(value == "stale" for _, value in theirs.values()):
            for rule, _ in wanted["alerts"]:
                self.counts.add("marked", rule)
        return None

    def _alerts(self, rule, ours, theirs):
        for labels, wanted in theirs.items():
            if labels not in ours:
                return "rule %s does not have the alert %s, which is %s" % (rule, _text(labels), wanted[0])
            mine = ours[labels]
            for what, k in (("state", 0), ("active since", 1), ("firing since", 2)):
                if mine[k] != wanted[k]:
                    return "alert %s of %s: %s %s, expected %s" % (_text(labels), rule, what, mine[k], wanted[k])
            if not _same(mine[3], wanted[3]):
                return "alert %s of %s: value %s, expected %s" % (_text(labels), rule, mine[3], wanted[3])
            if sorted(_pairs(mine[5])) != sorted(_pairs(wanted[5])):
                return "alert %s of %s has annotations %s, expected %s" % (_text(labels), rule, mine[5], wanted[5])
        for labels in ours:
            if labels not in theirs:
                return "rule %s has the unexpected alert %s" % (rule, _text(labels))
        return None

    def _reload(self, version, events):
        """Handles a reload: checks that issues of changed rules have ended and issues of unchanged rules have not."""
        ended = {}
        for rule, alerts in self.firing.items():
            self.counts.add("reloaded", rule)
            if rule not in version.kept:
                for labels, alert in alerts.items():
                    ended[rule, labels] = alert
                    self.counts.add("ended by a reload", rule)
        self.firing = {rule: alerts for rule, alerts in self.firing.items() if rule in version.kept}
        mismatch = self._events(events, {}, ended, version.start, "rule_removed")
        return mismatch and "at the reload at %d ms: %s" % (version.start, mismatch)

    def _events(self, events, found, ended, t, reason):
        """Checks that each start and each end is reported once, with the data that Prometheus would report."""
        mismatch = set()
        for event in events:
            kind = event["type"].rsplit(".", 1)[1]
            key = (event["rule"], tuple(event["labels"]))
            alert = {"found": found, "resolved": ended}.get(kind, self.firing.get(key[0], {}))
            alert = alert.get(key[1] if kind == "updated" else key)
            where = "event %s of %s %s" % (kind, key[0], _text(key[1]))
            if alert is None or (kind, key) in mismatch:
                return where + ", expected none"
            mismatch.add((kind, key))
            texts = dict(_pairs(alert[5]))
            expected = {"t": str(t), "active": alert[1], "started": alert[2], "summary": texts.get("summary", ""),
                        "description": texts.get("description", ""), "ended": str(t if kind == "resolved" else 0)}
            if kind == "resolved" and reason:
                expected["reason"] = reason
            for field, value in expected.items():
                if event[field] != value:
                    return "%s: %s is %r, expected %r" % (where, field, event[field], value)
            # Prometheus keeps the last value of an alert, while our event contains the value at its tick as evidence.
            if kind == "found" and not _same(event["value"], alert[3]):
                return "%s: value %s, expected %s" % (where, event["value"], alert[3])
        for kind, wanted in (("found", found), ("resolved", ended)):
            for rule, labels in wanted:
                if (kind, (rule, labels)) not in mismatch:
                    return "no event %s of %s %s" % (kind, rule, _text(labels))
        return None


def _hidden(labels):
    name = dict(_pairs(labels)).get("__name__", "")
    return name.startswith(HIDDEN) or dict(_pairs(labels)).get("alertname") == "PitwallWatchAll"


def _pairs(flat):
    return list(zip(flat[::2], flat[1::2]))


def _same(a, b):
    if "stale" in (a, b):
        return a == b
    x, y = float.fromhex(a), float.fromhex(b)
    return x == y or (math.isnan(x) and math.isnan(y)) or same_number(x, y)


def _text(labels):
    pairs = dict(_pairs(labels))
    name = pairs.pop("__name__", "")
    return name + "{%s}" % ",".join('%s="%s"' % pair for pair in sorted(pairs.items()))
