#!/usr/bin/env python3
"""Format of the commits since 2026-11-27: `area: Verb object` in the imperative, at most 72 characters, a body, no merge, no machine-specific path.

In a shallow clone, only the available commits are checked.
"""
import os
import re
import subprocess
import sys

SINCE = 1795809600  # 2026-11-27T20:00:00Z by author date; earlier commits followed other rules
SUBJECT = re.compile(r"[a-z0-9][a-z0-9_./, -]*: (?P<verb>[A-Z][a-z]+(?:-[a-z]+)*) \S.*")
# Verbs with a base form that ends in -s, -ed, or -ing.
IMPERATIVE = re.compile(r"(?:Focus|Alias|Bias|Canvas|Embed|Feed|Need|Shed|Seed|Speed|Exceed|Succeed|Proceed|Bring|String|Ping|Ring)$")
PAST = re.compile(r"(?:Made|Wrote|Kept|Took|Gave|Did|Was|Were|Found|Left|Told|Sent|Built|Held|Began|Chose|Drew|Broke)$")
MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home|tmp|Users)/")


def faults(subject, body, parents):
    """Returns the faults in one commit as strings."""
    out = []
    match = SUBJECT.fullmatch(subject)
    if len(parents) > 1:
        out.append("a merge commit: rebase")
    if match is None:
        out.append("the subject must be `area: Verb object`")
    elif PAST.match(match["verb"]) or re.search(r"(?:(?<!s)s|ed|ing)$", match["verb"]) and not IMPERATIVE.match(match["verb"]):
        out.append('"%s" is not imperative' % match["verb"])
    if len(subject) > 72:
        out.append("the subject has %d characters, at most 72" % len(subject))
    if not body.strip():
        out.append("no body: state why")
    if MACHINE.search(subject + "\n" + body):
        out.append("a machine-specific path")
    return out


def commits():
    """Returns [(hash, parents, subject, body)]. The list is empty in a source archive or if git fails."""
    if not os.path.exists(".git"):
        return
    log = subprocess.run(["git", "log", "--format=%h%x1f%p%x1f%at%x1f%s%x1f%b%x1e"], capture_output=True, text=True, check=False)
    if log.returncode != 0:  # for example in a clone that belongs to another user
        print("commits: not checked: %s" % log.stderr.strip())
    for place, entry in enumerate(log.stdout.split("\x1e")):
        fields = entry.strip("\n").split("\x1f")
        # CI systems check out their own merge commit for a branch.
        if place == 0 and len(fields) == 5 and len(fields[1].split()) > 1:
            continue
        if len(fields) == 5 and int(fields[2]) >= SINCE:
            yield fields[0], fields[1].split(), fields[3], fields[4]


if __name__ == "__main__":
    found = ["%s %s: %s" % (name, subject, fault) for name, parents, subject, body in commits() for fault in faults(subject, body, parents)]
    print("\n".join(found + ["commits: %s" % ("%d findings" % len(found) if found else "clean")]))
    sys.exit(1 if found else 0)
