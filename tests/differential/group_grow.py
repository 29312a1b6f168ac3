"""Random rule groups over the data of group_data.py, and random edits to them.

The rules compare only values that both engines must compute exactly to the last bit: samples, sums, and counts of whole numbers. Rounded values
(rate) are compared only with numbers that they never equal, and templates contain them only in rounded form.
"""
import json

from group_case import Group, GroupCase, Rule, Version
from group_data import make_data

INTERVALS = (10_000, 10_000, 15_000, 20_000, 30_000, 60_000)
WATCH = """groups:
- name: watch
  interval: 1d
  rules:
  - alert: PitwallWatchAll
    expr: 'count({__name__!=""}) < 0'
    needs: []
"""


class Grower:
    def __init__(self, rng):
        self.rng = rng
        self.recorded = []  # (name, labels): series that later rules may read
        self.alerts = []  # names of alerts
        self.names = 0

    def case(self):
        rng = self.rng
        start = rng.choice((0, 600_000, 1_000_000_000_000, 1_700_000_040_000))
        intervals = [rng.choice(INTERVALS) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        length = min(intervals) * rng.choice((20, 30, 40, 50))
        dataset, shape = make_data(rng, start, length)
        self.elements = shape.elements
        groups = [self._group(k, interval) for k, interval in enumerate(intervals)]
        plans = [(-(1 << 50), groups)]
        while rng.random() < 0.4 and len(plans) < 4:
            at = plans[-1][0] if len(plans) > 1 else start
            if start + length - at < 4 * min(intervals):
                break
            at = rng.randrange(at + 1, start + length)
            plans.append((at, self._edited(plans[-1][1])))
        hold = WATCH if len(plans) > 1 or rng.random() < 0.85 else ""
        if len(plans) > 1:
            hold += self._holds([groups for _, groups in plans])
        versions = []
        for k, (at, edition) in enumerate(plans):
            versions.append(Version.of(at, edition, plans[k - 1][1] if k else None, hold))
        restores = [] if rng.random() < 0.7 else sorted(rng.randrange(start, start + length)
                                                        for _ in range(rng.choice((1, 2))))
        return GroupCase(dataset, versions, start, start + length, restores)

    def _holds(self, editions):
        """Returns rules that read, at the same intervals, every series that any edition reads. Pitwall's engine has no history for data that no
        earlier edition read (docs/time-model.md, 7). This test does not cover that case."""
        wanted = {}
        for groups in editions:
            for group in groups:
                at = wanted.setdefault(group.interval, {})
                at.update(dict.fromkeys(("ga", "gb", "gc", "cn", "ALERTS", "ALERTS_FOR_STATE")))  # metrics that rules need
                at.update(dict.fromkeys(self.recorded))
                at.update((rule.expr, None) for rule in group.rules)
        lines = []
        for interval, exprs in sorted(wanted.items()):
            lines += ["- name: hold%d" % interval, "  interval: %dms" % interval, "  rules:"]
            for k, expr in enumerate(exprs):
                lines += ["  - record: hold:%d:%d" % (interval, k), "    expr: " + json.dumps(expr)]
        return "\n".join(lines) + "\n"

    # Groups and rules.

    def _group(self, index, interval):
        rng = self.rng
        pack = rng.choice("ab")
        rules = [self._rule(interval) for _ in range(rng.randint(1, 8))]
        limit = rng.choice((1, 2, 3, 5)) if rng.random() < 0.2 else 0
        labels = ()
        if rng.random() < 0.3:
            labels = (("team", "blue"),) if rng.random() < 0.7 else (("team", "blue"), ("sev", "page"))
        return Group(pack, "g%d" % index, interval, rules, limit, labels)

    def _rule(self, interval):
        rng = self.rng
        self.names += 1
        if rng.random() < 0.4:
            rule = Rule("record", "rec%d" % self.names, self._record(interval), labels=self._record_labels())
            self.recorded.append(rule.name)
            return rule
        name = "A%d" % self.names
        if self.alerts and rng.random() < 0.1:
            name = rng.choice(self.alerts)  # several rules may have the same alert name
        expr, exact = self._alert(interval)
        rule = Rule("alert", name, expr, self._patience(interval) if rng.random() < 0.7 else 0,
                    self._patience(interval) if rng.random() < 0.4 else 0, self._alert_labels(exact),
                    self._annotations(exact))
        self.alerts.append(name)
        return rule

    def _patience(self, interval):
        return int(interval * self.rng.choice((0.5, 1, 1, 2, 2, 3, 3.5, 5))) + self.rng.choice((0, 0, 0, 1, -1))

    def _record_labels(self):
        rng = self.rng
        draw = rng.random()
        if draw < 0.6:
            return ()
        if draw < 0.8:
            return (("src", "rule"),)
        return (("zone", "all"),) if draw < 0.9 else (("i", ""),)  # each may make two elements equal

    def _alert_labels(self, exact):
        rng = self.rng
        labels = []
        if rng.random() < 0.5:
            labels.append(("sev", rng.choice(("warn", "page"))))
        if rng.random() < 0.3:
            labels.append(("where", "{{ $labels.zone }}-{{ $labels.i }}"))
        if rng.random() < 0.1:
            labels.append(("zone", rng.choice(("one", "{{ $labels.i }}", "{{ $labels.missing }}"))))
        if exact and rng.random() < 0.15:
            labels.append(("level", rng.choice(("{{ $value }}", "{{ if gt $value 6.0 }}high{{ else }}low{{ end }}",
                                                "{{ with $labels.i }}{{ . }}{{ end }}"))))
        return labels

    def _annotations(self, exact):
        rng = self.rng
        value = "{{ $value }}" if exact else '{{ printf "%.1f" $value }}'
        texts = []
        if rng.random() < 0.8:
            texts.append(("summary", rng.choice(("{{ $labels.i }} is at " + value, "over", value))))
        if rng.random() < 0.4:
            texts.append(("description", rng.choice((
                "{{ $labels }}", "{{ $labels.zone | toUpper }} " + value,
                "{{ if gt $value 5.5 }}much{{ else }}little{{ end }}" if exact else "so it is"))))
        if rng.random() < 0.2:
            texts.append(("runbook", "see {{ $labels.alertname }}"))
        return texts

    # Expressions.

    def _gauge(self):
        return self.rng.choice(("ga", "ga", "gb", "gc", 'ga{zone="x"}', 'gb{zone!="y"}', 'ga{i=~"[0-2]"}'))

    def _range(self, interval):
        return "[%dms]" % (interval * self.rng.choice((1, 2, 3, 4, 6)))

    def _source(self, interval):
        """Returns an expression for a vector of whole numbers."""
        rng = self.rng
        draw = rng.random()
        if self.recorded and draw < 0.3:
            return rng.choice(self.recorded)
        if draw < 0.65:
            return self._gauge()
        if draw < 0.8:
            return "%s_over_time(%s%s)" % (rng.choice(("max", "min", "last", "count", "sum")), self._gauge(),
                                           self._range(interval))
        if draw < 0.85:
            return "changes(%s%s)" % (self._gauge(), self._range(interval))
        if draw < 0.9:
            return "max_over_time((%s > 4)[%dms:%dms])" % (self._gauge(), interval * 4, rng.choice((10_000, 15_000)))
        return "%s by (zone) (%s)" % (rng.choice(("sum", "max", "min", "count")), self._gauge())

    def _record(self, interval):
        rng = self.rng
        draw = rng.random()
        if draw < 0.35:
            return self._source(interval)
        if draw < 0.45:
            return "%s * 2" % self._source(interval)
        if draw < 0.55:
            return "rate(cn%s)" % self._range(max(interval, 30_000)) if rng.random() < 0.5 else self._gauge() + " > 3"
        if draw < 0.65 and self.recorded:
            return "sum_over_time(%s%s)" % (rng.choice(self.recorded), self._range(interval))
        if draw < 0.75 and self.alerts:
            return rng.choice(("count by (alertstate) (ALERTS)", 'sum(ALERTS{alertstate="firing"})',
                               'count_over_time(ALERTS{alertname="%s"}%s)' % (rng.choice(self.alerts),
                                                                             self._range(interval)),
                               'ALERTS_FOR_STATE{alertname="%s"}' % rng.choice(self.alerts)))
        if draw < 0.85:
            return "ga + on (i) group_left () gc" if rng.random() < 0.7 else "ga - on (zone) gb"  # may fail at ticks
        return rng.choice(("%s and ga > 2", "%s unless gb > 4", "%s or gc")) % self._source(interval)

    def _alert(self, interval):
        """Returns (text, True if its values are whole numbers)."""
        rng = self.rng
        draw = rng.random()
        threshold = rng.randint(2, 7)
        if draw < 0.55:
            return "%s %s %d" % (self._source(interval), rng.choice((">", ">", ">=", "<", "==", "!=")), threshold), True
        if draw < 0.62:
            return "rate(cn%s) > 0.31416" % self._range(max(interval, 30_000)), False
        if draw < 0.7 and self.alerts:
            name = rng.choice(self.alerts)
            return rng.choice(('ALERTS{alertname="%s",alertstate="firing"}' % name, 'ALERTS{alertstate="pending"} == 1',
                               'time() - ALERTS_FOR_STATE{alertname="%s"} > %d' % (name, interval * 2 // 1000),
                               "count(ALERTS) > 2")), True
        if draw < 0.76:
            return rng.choice(('absent(ga{i="0"})', 'absent(gc)', 'absent_over_time(gb{i="1"}%s)' % self._range(interval),
                               "absent(%s)" % (rng.choice(self.recorded) if self.recorded else "nothing"))), True
        if draw < 0.82:
            return "ga > on (i) group_left () gc" if rng.random() < 0.6 else "ga > on (zone) gb", True
        if draw < 0.88:
            return rng.choice(("vector(time()) % 120 < 60", "vector(1)", "vector(time() % 60 < bool 40) == 1")), True
        if draw < 0.94:
            return "%s > %d and on (i) gb %s %d" % (self._gauge(), threshold, rng.choice("<>"), rng.randint(2, 7)), True
        return "%s > %d unless on (i) gc > 6" % (self._gauge(), threshold), True

    # Reloads.

    def _edited(self, groups):
        """Returns another edition with rules edited, removed, added, or reordered, and with a group removed, changed, or added."""
        rng = self.rng
        groups = [g.changed(rules=list(g.rules)) for g in groups]
        for _ in range(rng.choice((1, 1, 2, 3))):
            k = rng.randrange(len(groups))
            group = groups[k]
            draw = rng.random()
            at = rng.randrange(len(group.rules))
            if draw < 0.4:
                group.rules[at] = self._edited_rule(group.rules[at], group.interval)
            elif draw < 0.55 and len(group.rules) > 1:
                del group.rules[at]
            elif draw < 0.7:
                group.rules.insert(at, self._rule(group.interval))
            elif draw < 0.8:
                rng.shuffle(group.rules)
            elif draw < 0.87 and len(groups) > 1:
                del groups[k]
            elif draw < 0.92:
                groups[k] = group.changed(limit=rng.choice((0, 2, 4)))
            elif draw < 0.96:
                groups[k] = group.changed(interval=rng.choice(INTERVALS))
            else:
                groups[k] = group.changed(labels=(("team", rng.choice(("red", "blue"))),))
        return groups

    def _edited_rule(self, rule, interval):
        rng = self.rng
        if rule.kind == "record":
            if rng.random() < 0.5:
                return rule.changed(expr=self._record(interval))
            return rule.changed(labels=self._record_labels())
        draw = rng.random()
        if draw < 0.3:
            return rule.changed(expr=self._alert(interval)[0], labels=(), annotations=())
        if draw < 0.45:
            return rule.changed(hold=self._patience(interval))
        if draw < 0.6:
            return rule.changed(keep=self._patience(interval))
        if draw < 0.75:
            return rule.changed(labels=(("sev", rng.choice(("info", "warn"))),))
        return rule.changed(annotations=(("summary", "edited {{ $labels.i }}"),))
