#!/usr/bin/env python3
"""Only services/adapters/clock reads a clock or sleeps. A replay equals the live run only if all time comes from the log.

clocks_allowed.txt lists exceptions with a reason. Entries that are no longer needed are findings.
"""
import re

from repo import Finding, in_any, main, read_allowed, strip_cpp

HOME = "services/adapters/clock"
ALLOWED = "tests/lint/clocks_allowed.txt"

TOKENS = re.compile(r"""
    \bchrono::\w+_clock\b | \b(?:system|steady|high_resolution|utc|tai|file)_clock::
  | \bclock_gettime\b | \bclock_nanosleep\b | \bgettimeofday\b | \bftime\b | \b__rdtscp?\b
  | \bstd::time\s*\( | (?<![\w.>:])time\s*\(\s*(?:nullptr|NULL|0)\s*\) | \bstd::clock\b
  | \b(?:sleep_for|sleep_until|wait_for|wait_until|try_lock_for|try_lock_until|usleep|nanosleep)\b
  | (?<![\w.>:])sleep\s*\( | \bstd::this_thread::sleep
  | \babsl::(?:Now|SleepFor|GetCurrentTimeNanos)\b | \b(?:Await|Wait|Lock)WithTimeout\b | \b(?:Await|Wait|Lock)WithDeadline\b
""", re.X)


def check(repo):
    text = repo.text(ALLOWED) if repo.exists(ALLOWED) else ""
    allowed, findings = read_allowed(ALLOWED, text)
    used = set()
    for path in repo.cpp():
        if in_any(path, [HOME]):
            continue
        for number, line in enumerate(strip_cpp(repo.text(path) or "").splitlines(), 1):
            match = TOKENS.search(line)
            if not match:
                continue
            if path in allowed:
                used.add(path)
            else:
                findings.append(Finding(path, number, "%s: use Clock& or Wakeup (services/base/clock.h) instead"
                                        % match.group(0).strip(" (")))
    for entry, number in allowed.items():
        if entry not in used:
            findings.append(Finding(ALLOWED, number, "%s does not read a clock: remove the entry" % entry))
    return findings


if __name__ == "__main__":
    main(check)
