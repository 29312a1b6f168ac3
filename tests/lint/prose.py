#!/usr/bin/env python3
"""Counts of unidiomatic phrases in all comments, messages, and documents in the tree. The counts may only decrease.

prose.py [--update] [--list NAME]

Compares the counts with prose_limits.txt. A count above its limit is an error. So is a count below its limit until --update lowers the limit, so that
improvements are kept. --list prints the occurrences of one phrase.
"""
import os
import re
import sys

from repo import Finding, Repo, main

LIMITS = "tests/lint/prose_limits.txt"
# Maps each name to (pattern, replacement).
PHRASES = {
    "tell": (r"(?<![.])\b(?:tells?|told|telling)\b(?!\()", "report, emit, send, notify"),
    "say": (r"(?<![.])\b(?:says?|said|saying)\b(?!\(| \")", "report, state, name"),
    "hear": (r"\b(?:hears?|heard)\b", "receive, see"),
    "stand": (r"\b(?:stands?|stood)\b(?! (?:for|by|out|alone)\b)", "is, remains"),
    "lie": (r"\b(?:lies|lay|lain)\b", "is"),
    "go on": (r"\b(?:go|goes|went|going|gone) on\b", "continue"),
    "mend": (r"\bmend(?:s|ed|ing)?\b", "fix, repair"),
    "so many": (r"\bso (?:many|much)\b", "the number of, a maximum of"),
    "the least": (r"\bthe (?:least|greatest)\b", "minimum, maximum"),
    "is no": (r"(?<!there )\b(?:is|are|was|were) no(?:ne|body)?\b(?! (?:longer|more|less|later|earlier|greater)\b)", "is not a, has no"),
    "nobody": (r"\b(?:nobody|none) (?:knows?|told|tells|says|said)\b", "unknown"),
    "whom it concerns": (r"\bwhoever\b", "clients that, a user who"),
    "a training": (r"\ba training(?=[.,;:) ]*$|[.,;:)]| (?:that|is|was|which|of|in|on|has|had|with|by|and|or|ends?)\b)", "a training run, a job"),
    "what it was": (r"\bwhat (?:it|they|was|were|is|are) (?:told|said|wrote|written|sent|read|asked|there)\b", "the values it wrote"),
    "British spelling": (r"(?i)\b\w*(?:(?:initial|final|normal|util|regular|synchron|optim|organ|recogn|serial|visual|summar|minim|maxim|general|special|priorit|"
                         r"canonical|random|token|penal|standard|emphas|character|parallel|quant|stabil|real)is(?:e[ds]?|ing|ations?)|analys(?:e[ds]?|ing)|"
                         r"(?:colou|neighbou|behaviou|flavou|favou|honou|labou)r(?:s|ed|ing|hoods?)?|labell(?:ed|ing)|centre[ds]?|"
                         r"artefacts?|memoris(?:e[ds]?|ing))\b", "American spelling"),
}
# First word of the comment at the start of a file.
HEADER = re.compile(r"\A(?:#![^\n]*\n)?(?:// |# |\"\"\"|/\* )(What|Which|How|Who|Whether|Where|When|Why)\b")
KINDS = (".cc", ".h", ".c", ".py", ".yaml", ".md", ".proto", ".sh", ".cmake", ".ts", ".tsx", ".go", ".test")
LEFT_OUT = ("tests/lint/prose.py", "tests/lint/words.py", "tests/lint/selftest.py", "CHANGELOG.md", "docs/rules.md", "docs/decisions/")


def places(repo):
    """Returns {name: [Finding]}."""
    found = {name: [] for name in ("header", *PHRASES)}
    patterns = {name: re.compile(pattern, re.M if not pattern.startswith('(?i)') else 0) for name, (pattern, _) in PHRASES.items()}
    for path in repo.paths:
        if not path.endswith(KINDS) or path.startswith(LEFT_OUT):
            continue
        text = repo.text(path) or ""
        if match := HEADER.search(text):
            found["header"].append(Finding(path, 1, 'the header begins with "%s": begin with a noun phrase' % match.group(1)))
        for name, pattern in patterns.items():
            for match in pattern.finditer(text):
                better = PHRASES[name][1]
                found[name].append(Finding(path, text.count("\n", 0, match.start()) + 1, '"%s": write %s' % (match.group(0), better)))
    return found


def read_limits(repo):
    limits = {}
    for line in (repo.text(LIMITS) if repo.exists(LIMITS) else "").splitlines():
        name, _, count = line.rpartition(" ")
        limits[name] = int(count)
    return limits


def check(repo):
    limits, findings = read_limits(repo), []
    for name, found in places(repo).items():
        limit = limits.get(name, 0)
        if len(found) > limit:
            findings.append(Finding(LIMITS, 1, '%s: %d places, at most %d; prose.py --list "%s" prints them' % (name, len(found), limit, name)))
        elif len(found) < limit:
            findings.append(Finding(LIMITS, 1, "%s: %d places, fewer than %d; run prose.py --update to lower the limit" % (name, len(found), limit)))
    return findings


def update(repo):
    limits = read_limits(repo)
    with open(os.path.join(repo.root, LIMITS), "w", encoding="utf-8") as file:
        for name, found in places(repo).items():
            file.write("%s %d\n" % (name, min(len(found), limits.get(name, len(found)))))


if __name__ == "__main__":
    if "--update" in sys.argv:
        update(Repo())
    elif "--list" in sys.argv:
        print(*places(Repo())[sys.argv[sys.argv.index("--list") + 1]], sep="\n")
    else:
        main(check)
