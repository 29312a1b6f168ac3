#!/usr/bin/env python3
"""Words that confuse new readers, in comments, messages, and documents. Each finding suggests the usual term."""
import re

from repo import Finding, main

# Word -> replacement.
WORDS = [
    (re.compile(r"\banew\b"), "again"),
    (re.compile(r"\bhangs? on\b"), "depends on"),
    (re.compile(r"\bis no number\b"), "is NaN"),
    (re.compile(r"(?<!there )\bis none\b(?! of)"), "is malformed, is not"),
    (re.compile(r"\bstands\b(?! (?:for|still|by|out)\b)"), "is"),
    (re.compile(r"\bdoor\b"), "interface"),
    (re.compile(r"\bthis (?:room|house)\b"), "this folder, this project"),
]
KINDS = (".cc", ".h", ".c", ".py", ".yaml", ".md", ".proto", ".sh", ".cmake", ".txt", ".in", ".test")
LEFT_OUT = ("tests/lint/words.py", "tests/lint/prose.py", "tests/lint/selftest.py", "CHANGELOG.md")  # the lists, their tests, and earlier changes


def check(repo):
    findings = []
    for path in repo.paths:
        text = repo.text(path) if path.endswith(KINDS) and path not in LEFT_OUT else None
        for number, line in enumerate((text or "").splitlines(), 1):
            for word, better in WORDS:
                match = word.search(line)
                if match:
                    findings.append(Finding(path, number, '"%s": write %s' % (match.group(0), better)))
    return findings


if __name__ == "__main__":
    main(check)
