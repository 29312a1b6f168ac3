#!/usr/bin/env python3
"""Only services/base writes to stdout and stderr. All other code uses services/base/terminal.h, because it escapes control characters. Tests,
benchmarks, and tools under tests/ may print directly."""
import re

from repo import Finding, main, strip_cpp

HOMES = ("services/base/terminal.cc", "services/base/check.h")
TOKENS = re.compile(r"\b(?:std::)?(?:f?printf|vf?printf|fputs|puts|fputc|putchar|dprintf)\s*\(|\bstd::c(?:out|err|log)\b|\b(?:stdout|stderr)\b")


def check(repo):
    findings = []
    for path in repo.cpp():
        if path in HOMES or not path.startswith(("services/", "rules/")) or re.search(r"_(?:test|bench|fuzz)\.(?:cc|h)$|/testing/", path):
            continue
        for number, line in enumerate(strip_cpp(repo.text(path) or "").splitlines(), 1):
            match = TOKENS.search(line)
            if match:
                findings.append(Finding(path, number, "%s: Print, PrintJson or PrintError (services/base/terminal.h) instead"
                                        % match.group(0).strip(" (")))
    return findings


if __name__ == "__main__":
    main(check)
