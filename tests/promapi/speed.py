#!/usr/bin/env python3
"""speed.py --eval PROGRAM [--series N] [--interval S]: measures one-hour range queries with a 15 s step.

The samples are already in memory, so the result excludes the time that the history takes to read them.
"""
import argparse
import random
import subprocess
import sys
import time
import urllib.parse

START = 1_700_000_000
HOUR = 3600
QUERIES = ("m", "sum(m)", "avg by (node) (m)", "rate(m[5m])", "sum by (node) (rate(m[1m]))", "max_over_time(m[5m])",
           "quantile_over_time(0.9, m[5m])", "topk(5, m)", "m - m @ end()", "max_over_time(rate(m[1m])[10m:30s])",
           "sum(m) / count(m)", "m * on (node, gpu) m")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", required=True)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--interval", type=int, default=1, help="seconds between two samples")
    options = parser.parse_args()
    rng = random.Random(1)
    child = subprocess.Popen([options.eval], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(target):
        began = time.monotonic()
        child.stdin.write(("GET\t%s\t\n" % target).encode())
        child.stdin.flush()
        line = child.stdout.readline()
        return time.monotonic() - began, line

    child.stdin.write(b"series\t%d\n" % options.series)
    for i in range(options.series):
        level, samples = 0, []
        for t in range(-HOUR // 4, HOUR + 1, options.interval):
            level += rng.randrange(10)
            samples.append("%d:%d" % ((START + t) * 1000, level))
        child.stdin.write(("__name__=m\tgpu=%d\tnode=n%d\tpitwall_job=j%d\t|\t%s\n" % (
            i % 8, i // 8 % 16, i // 128, "\t".join(samples))).encode())
    ask("/api/v1/query?query=1")
    for query in QUERIES:
        span = urllib.parse.urlencode({"query": query, "start": START, "end": START + HOUR, "step": 15})
        seconds, line = ask("/api/v1/query_range?" + span)
        print("%6.3f s  %9d bytes  %s%s" % (seconds, len(line), query, "" if line.startswith(b"200") else "  " + line[:300].decode()))
    child.stdin.close()
    child.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
