#!/usr/bin/env python3
"""Build progress: reads ninja's output and prints steps, elapsed time, and an estimate of the remaining time.

On a terminal, it updates one line; otherwise, it prints a line every 15 seconds. All other ninja output (errors, warnings) is passed through.
"""
import os
import re
import sys
import time

STEP = re.compile(r"^\[(\d+)/(\d+)\] ")
QUIET_SECONDS = 15
# Minimum number of steps before an estimate is shown. The first steps are code generation and CMake itself.
FEWEST_STEPS = 10


def clock(seconds):
    return "%d:%02d" % divmod(int(seconds), 60)


def describe(done, total, elapsed):
    """Returns a line like `[34/153] 1:12 elapsed, about 4:12 left`."""
    text = "[%d/%d] %s elapsed" % (done, total, clock(elapsed))
    if FEWEST_STEPS <= done < total:
        text += ", about %s left" % clock(elapsed * (total - done) / done)
    return text


class Progress:
    def __init__(self, out, terminal, now=time.monotonic):
        self.out, self.terminal, self.now = out, terminal, now
        self.started = now()
        self.printed = None   # time of the last line
        self.pending = False  # the terminal's line is not finished

    def read(self, line):
        step = STEP.match(line)
        if not step:
            self.end_line()
            self.out.write(line)
            self.out.flush()
            return
        done, total = map(int, step.groups())
        now = self.now()
        if not self.terminal and done < total and self.printed is not None and now - self.printed < QUIET_SECONDS:
            return
        self.printed = now
        text = "   " + describe(done, total, now - self.started)
        self.out.write("\r" + text.ljust(60) if self.terminal else text + "\n")
        self.out.flush()
        self.pending = self.terminal

    def end_line(self):
        if self.pending:
            self.out.write("\n")
            self.pending = False


def main():
    progress = Progress(sys.stdout, sys.stdout.isatty() and not os.environ.get("CI"))
    for line in sys.stdin:
        progress.read(line)
    progress.end_line()


if __name__ == "__main__":
    main()
