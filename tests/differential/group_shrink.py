"""Shrinks a failing rule-group case."""
import re

from group_case import HOLD, GroupCase, Version

BUDGET = 400  # maximum number of queries
GROUP = re.compile(r"(?m)^- name: ")


class GroupShrinker:
    def __init__(self, engines):
        self._engines = engines
        self._left = BUDGET

    def _fails(self, case):
        if self._left <= 0:
            return False
        self._left -= 1
        mismatch = self._engines.difference(case)
        return mismatch is not None and "cannot run" not in mismatch

    def shrink(self, case):
        before = None
        while before is not case and self._left > 0:
            before = case
            for step in (self._restores, self._end, self._versions, self._rules, self._keys, self._series,
                         self._samples):
                case = step(case)
        return case

    def _drop(self, items, fails):
        """Removes chunks, large ones first, while the case still fails."""
        size = max(1, len(items) // 2)
        while items:
            at = 0
            while at < len(items):
                fewer = items[:at] + items[at + size:]
                if fails(fewer):
                    items = fewer
                else:
                    at += size
            if size == 1:
                break
            size //= 2
        return items

    def _first(self, candidates, case):
        return next((c for c in candidates if self._fails(c)), case)

    def _restores(self, case):
        kept = self._drop(list(case.restores), lambda some: self._fails(case.changed(restores=some)))
        return case if len(kept) == len(case.restores) else case.changed(restores=kept)

    def _end(self, case):
        length = case.end - case.start
        ends = [case.start + length * k // 16 for k in range(1, 16)]
        return self._first([case.changed(end=end, restores=[t for t in case.restores if t < end],
                                         versions=[v for v in case.versions if v.start < end]) for end in ends], case)

    def _versions(self, case):
        kept = self._drop(case.versions, lambda some: bool(some) and self._fails(
            case.changed(versions=[_since(some[0])] + some[1:])))
        return case if len(kept) == len(case.versions) else case.changed(versions=[_since(kept[0])] + kept[1:])

    def _rules(self, case):
        """Removes rules, each from all rule sets at once. Removing one from a single set would change the effect of a reload."""
        texts = sorted({rule for v in case.versions for name, text in v.files if name != HOLD
                        for rule in _rules_of(text)}, key=len, reverse=True)

        def without(kept):
            return _rewritten(case, lambda rule: rule in kept)
        kept = self._drop(texts, lambda some: bool(some) and self._fails(without(set(some))))
        return case if len(kept) == len(texts) else without(set(kept))

    def _keys(self, case):
        """Removes optional lines from rules and groups."""
        keys = ["annotations", "limit"]
        if len(case.versions) == 1:  # otherwise a reload could change a rule's identity
            keys += ["keep_firing_for", "for", "labels"]
        for key in keys:
            other = _lines_without(case, key)
            if other.text() != case.text() and self._fails(other):
                case = other
        return case

    def _series(self, case):
        kept = self._drop(case.dataset.series, lambda some: self._fails(
            case.changed(dataset=case.dataset.with_series(some))))
        return case if len(kept) == len(case.dataset.series) else case.changed(dataset=case.dataset.with_series(kept))

    def _samples(self, case):
        series = case.dataset.series
        times = sorted({t for _, samples in series for t, _ in samples})

        def at(some):
            wanted = set(some)
            return case.changed(dataset=case.dataset.with_series(
                [(labels, [p for p in samples if p[0] in wanted]) for labels, samples in series]))
        kept = self._drop(times, lambda some: self._fails(at(some)))
        return case if len(kept) == len(times) else at(kept)


def _since(version):
    return Version(-(1 << 50), version.files, version.kept)


def _rules_of(text):
    out = []
    for group in GROUP.split(text)[1:]:
        out += ["  - " + part for part in re.split(r"(?m)^  - ", group)[1:]]
    return out


def _has(files, name):
    """Returns True if the rule pack/group/rule#n still exists. If several rules have that name, any of them counts."""
    pack, group, rule = name.split("#")[0].split("/")
    groups = GROUP.split(dict(files).get(pack + ".yaml", ""))[1:]
    return any(g.startswith(group + "\n") and re.search(r"(?m)^  - (alert|record): %s$" % re.escape(rule), g) for g in groups)


def _rewritten(case, keep):
    versions = []
    for version in case.versions:
        files = []
        for name, text in version.files:
            if name != HOLD:
                groups = []
                for group in GROUP.split(text)[1:]:
                    head, *rules = re.split(r"(?m)^  - ", group)
                    kept = ["  - " + rule for rule in rules if keep("  - " + rule)]
                    if kept:
                        groups.append("- name: " + head + "".join(kept))
                text = "groups:\n" + "".join(groups)
                if not groups:
                    continue
            files.append((name, text))
        versions.append(Version(version.start, files, [k for k in version.kept if _has(files, k)]))
    return GroupCase(case.dataset, versions, case.start, case.end, case.restores)


def _lines_without(case, key):
    pattern = re.compile(r"(?m)^ +%s: .*\n" % key)
    versions = [Version(v.start, [(n, t if n == HOLD else pattern.sub("", t)) for n, t in v.files], v.kept)
                for v in case.versions]
    return GroupCase(case.dataset, versions, case.start, case.end, case.restores)
