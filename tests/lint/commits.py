#!/usr/bin/env python3
"""Form of the commits since 2026-11-27: `area: Verb object` in the imperative, at most 72 characters, a body, no merge, no path of a machine.

A shallow clone shows the commits that it has.
"""
import re
import subprocess
import sys

SINCE = 1795809600  # 2026-11-27T20:00:00Z, by the author's date; earlier commits followed other rules
SUBJECT = re.compile(r"[a-z0-9][a-z0-9_./, -]*: (?P<verb>[A-Z][a-z]+(?:-[a-z]+)*) \S.*")
# Verbs that end like another form of a verb.
IMPERATIVE = re.compile(r"(?:Process|Pass|Address|Compress|Express|Access|Miss|Discuss|Press|Focus|Bypass|Suppress|Embed|Feed|Need|Shed|Seed|Speed|"
                        r"Exceed|Succeed|Proceed|Bring|String|Ping|Ring)$")
MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home|tmp|Users)/")


def faults(subject, body, parents):
    """The faults of one commit, as texts."""
    out = []
    match = SUBJECT.fullmatch(subject)
    if len(parents) > 1:
        out.append("a merge commit: rebase")
    if match is None:
        out.append("the subject must be `area: Verb object`")
    elif re.search(r"(?:s|ed|ing)$", match["verb"]) and not IMPERATIVE.match(match["verb"]):
        out.append('"%s" is not imperative' % match["verb"])
    if len(subject) > 72:
        out.append("the subject has %d characters, at most 72" % len(subject))
    if not body.strip():
        out.append("no body: state why")
    if MACHINE.search(subject + "\n" + body):
        out.append("a path of a machine")
    return out


def commits():
    """-> [(hash, parents, subject, body)]; none outside of a git repository"""
    log = subprocess.run(["git", "log", "--format=%h%x1f%p%x1f%at%x1f%s%x1f%b%x1e"], capture_output=True, text=True, check=False)
    for entry in log.stdout.split("\x1e"):
        fields = entry.strip("\n").split("\x1f")
        if len(fields) == 5 and int(fields[2]) >= SINCE:
            yield fields[0], fields[1].split(), fields[3], fields[4]


if __name__ == "__main__":
    found = ["%s %s: %s" % (name, subject, fault) for name, parents, subject, body in commits() for fault in faults(subject, body, parents)]
    print("\n".join(found + ["commits: %s" % ("%d findings" % len(found) if found else "clean")]))
    sys.exit(1 if found else 0)
