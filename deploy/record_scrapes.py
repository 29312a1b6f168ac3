#!/usr/bin/env python3
"""Records metrics from Prometheus exporters for `pitwall backtest --format openmetrics`. Scrapes each target at a fixed interval, like Prometheus,
and writes each sample with its time and the labels job, instance, and pitwall_job. Uses only Python's standard library.

    record_scrapes.py --job run-7 --out run-7.prom --duration 3600 http://node-a:9100/metrics http://node-a:9400/metrics
    pitwall backtest --format openmetrics --rules pack:derive pack:gpu pack:fleet --input run-7.prom

A response is accepted completely or not at all. A late, oversized, truncated, or malformed response is skipped, counted, and reported, and `up` is
set to 0. Each target has its own thread, so that a slow target does not delay others. The script ends after --duration seconds or at SIGINT or
SIGTERM, and prints the counts to stderr. The exit code is 1 if a target never responded.
"""
import argparse
import re
import signal
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib

MAX_BODY = 16 << 20     # maximum bytes of a response, uncompressed
MAX_LINE = 64 << 10     # maximum bytes of a line
MAX_LABEL = 4 << 10     # maximum bytes of a label's value; samples with longer ones are skipped
MAX_SERIES = 50_000     # maximum number of series of a target
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\\n]|\\[\\"n])*)"\s*(,|$)')
SAMPLE = re.compile(r"(%s)\s*(?:\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?\s+(\S+)(?:\s+(-?\d+))?\s*$" % NAME)


class Refused(Exception):
    """Reason why a response was skipped."""


class Target:
    def __init__(self, url, instance, job, scrape_job):
        self.url = url
        self.labels = {"instance": instance, "job": scrape_job, "pitwall_job": job}
        self.counts = dict.fromkeys(("scrapes", "failed", "samples", "duplicate", "long_label", "changed_type"), 0)
        self.types = {}
        self.stored = {}  # by the series' text in a response
        self.said = []  # the last few messages, so that alternating causes are not reported at each scrape

    def say(self, text):
        if text not in self.said:
            print("record_scrapes: %s: %s" % (self.url, text), file=sys.stderr, flush=True)
            self.said = self.said[-7:] + [text]

    def fetch(self, opener, timeout):
        """Returns the text of the response if it arrives within the timeout."""
        deadline = time.monotonic() + timeout
        request = urllib.request.Request(self.url, headers={"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "identity"})
        try:
            with opener.open(request, timeout=timeout) as answer:
                unpack = {"": None, "identity": None, "gzip": zlib.decompressobj(31)}.get(answer.headers.get("Content-Encoding", "").lower(), self)
                if unpack is self:
                    raise Refused("unsupported content encoding (%s); disable compression in the exporter" % answer.headers["Content-Encoding"])
                parts, size = [], 0
                while True:
                    part = answer.read1(1 << 16)
                    if time.monotonic() > deadline:
                        raise Refused("the response is incomplete after %g s; increase --timeout or make the exporter faster" % timeout)
                    if not part:
                        break
                    while part:
                        plain = unpack.decompress(part, MAX_BODY + 1 - size) if unpack else part
                        part = unpack.unconsumed_tail if unpack else b""
                        size += len(plain)
                        parts.append(plain)
                        if size > MAX_BODY:
                            raise Refused("the response is longer than %d MiB; let the exporter send less" % (MAX_BODY >> 20))
                        if unpack and not plain:
                            break
                wanted = answer.headers.get("Content-Length")
                if (unpack and not unpack.eof) or (not unpack and wanted and int(wanted) != size):
                    raise Refused("the response is truncated (%d bytes); check the exporter's log" % size)
                return b"".join(parts).decode("utf-8")
        except UnicodeDecodeError as problem:
            raise Refused("the response is not UTF-8 (byte %d); is this an exporter?" % problem.start) from None
        except zlib.error as problem:
            raise Refused("the response is not gzip (%s); check for a proxy between this machine and the exporter" % problem) from None
        except urllib.error.HTTPError as problem:
            raise Refused("HTTP status (%d %s); check the path and the permissions" % (problem.code, problem.reason)) from None
        except TimeoutError:
            raise Refused("no response within %g s; increase --timeout or make the exporter faster" % timeout) from None
        except (OSError, ValueError) as problem:
            cause = getattr(problem, "reason", problem)
            if isinstance(cause, TimeoutError):
                raise Refused("no response within %g s; increase --timeout or make the exporter faster" % timeout) from None
            raise Refused("no response (%s); is the exporter running there?" % cause) from None
        except Exception as problem:  # errors of http.client: a malformed status line, a connection closed early
            raise Refused("the response is truncated (%s); check the exporter's log" % (problem or type(problem).__name__)) from None

    def store(self, name, labels, number):
        """Returns the series as written in the response, or None if a label is too long."""
        pairs, at = [], 0
        while labels and at < len(labels):
            found = LABEL.match(labels, at)
            if not found:
                raise Refused("line %d: malformed labels (%.60s); the exporter must send Prometheus' text format" % (number, labels[at:]))
            pairs.append(found.group(1, 2))
            at = found.end()
        names = [key for key, _ in pairs]
        if len(set(names)) != len(names):
            raise Refused("line %d: duplicate label (%.60s); the exporter must send Prometheus' text format" % (number, labels))
        if any(len(value.encode()) > MAX_LABEL for _, value in pairs):
            return None
        pairs = [("exported_" + key if key in self.labels else key, value) for key, value in pairs] + list(self.labels.items())
        return "%s{%s}" % (name, ",".join('%s="%s"' % pair for pair in pairs))

    def samples(self, text, now_ms):
        if text and not text.endswith("\n"):
            raise Refused("the response is truncated (the last line has no line end); check the exporter's log")
        out, seen = [], set()
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > MAX_LINE:
                if len(line.encode()) > MAX_BODY // 2:
                    raise Refused("line %d: longer than %d KiB; the exporter must send Prometheus' text format" % (number, MAX_LINE >> 10))
                self.counts["long_label"] += 1
                continue
            if line.startswith("# TYPE "):
                words = line.split()
                if len(words) == 4 and self.types.setdefault(words[2], words[3]) != words[3]:
                    self.counts["changed_type"] += 1
                    self.types[words[2]] = words[3]
                continue
            if not line.strip() or line.startswith("#"):
                continue
            found = SAMPLE.match(line)
            if not found:
                raise Refused("line %d: malformed (%.60s); the exporter must send Prometheus' text format" % (number, line))
            name, labels, value, own_time = found.groups()
            try:
                float(value)
            except ValueError:
                raise Refused("line %d: the value is not a number (%.40s)" % (number, value)) from None
            key = (name, labels)
            if key not in self.stored:
                if len(self.stored) >= MAX_SERIES:
                    raise Refused("more than %d series; let the exporter send fewer" % MAX_SERIES)
                self.stored[key] = self.store(name, labels, number)
            stored = self.stored[key]
            if stored is None:
                self.counts["long_label"] += 1
            elif stored in seen:
                self.counts["duplicate"] += 1
            else:
                seen.add(stored)
                out.append("%s %s %s\n" % (stored, value, own_time or now_ms))
        return out

    def scrape(self, opener, timeout):
        """Returns the output lines for one scrape."""
        now_ms = int(time.time() * 1000)
        self.counts["scrapes"] += 1
        before = dict(self.counts)
        try:
            lines = self.samples(self.fetch(opener, timeout), now_ms)
            up = 1
            self.counts["samples"] += len(lines)
            left = ["%d %s" % (self.counts[name] - before[name], what) for name, what in
                    (("duplicate", "duplicate samples: the first counts"), ("long_label", "samples with a label beyond %d bytes" % MAX_LABEL),
                     ("changed_type", "families of another type than before")) if self.counts[name] != before[name]]
            if left:
                self.say("left out or odd in an answer: " + "; ".join(left))
        except Refused as problem:
            lines, up = [], 0
            self.counts["failed"] += 1
            self.say("scrape left out: %s" % problem)
        return lines + ["up{%s} %d %d\n" % (",".join('%s="%s"' % pair for pair in self.labels.items()), up, now_ms)]


def follow(target, options, opener, stop, out, lock):
    following = time.monotonic()
    while not stop.is_set():
        lines = target.scrape(opener, options.timeout)
        with lock:
            out.writelines(lines)
            out.flush()
        # Scrapes at regular intervals. Scrapes missed because of a slow response are skipped.
        following += options.interval * max(1, -(-(time.monotonic() - following) // options.interval))
        stop.wait(max(0, following - time.monotonic()))


def instances(urls):
    """Returns {URL: instance label}. The label is the host and port, plus the path if several targets share them."""
    parts = {url: urllib.parse.urlsplit(url) for url in urls}
    hosts = [part.netloc for part in parts.values()]
    return {url: part.netloc + (part.path + ("?" + part.query if part.query else "") if hosts.count(part.netloc) > 1 else "")
            for url, part in parts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", metavar="URL")
    parser.add_argument("--job", required=True, help="the training job that the samples belong to")
    parser.add_argument("--out", required=True)
    parser.add_argument("--interval", type=float, default=15, help="seconds (15)")
    parser.add_argument("--timeout", type=float, help="seconds for an answer (the interval, at most 10)")
    parser.add_argument("--duration", type=float, help="seconds (until it is stopped)")
    parser.add_argument("--scrape-job", default="exporters", help="the label job")
    options = parser.parse_args()
    options.timeout = options.timeout or min(options.interval, 10)
    for url in options.targets:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            parser.error("%s: the scheme is not http or https; give the whole URL, as http://node-a:9100/metrics" % url)
    if len(set(options.targets)) != len(options.targets):
        parser.error("a target is given twice (%s); give each once" % next(url for url in options.targets if options.targets.count(url) > 1))
    stop, lock = threading.Event(), threading.Lock()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    targets = [Target(url, instance, options.job, options.scrape_job) for url, instance in instances(options.targets).items()]
    with open(options.out, "w", encoding="utf-8") as out:
        threads = [threading.Thread(target=follow, args=(target, options, opener, stop, out, lock), daemon=True) for target in targets]
        for thread in threads:
            thread.start()
        stop.wait(options.duration)
        stop.set()
        for thread in threads:
            thread.join(options.timeout + 1)
        with lock:
            out.flush()
    for target in targets:
        print("record_scrapes: %s: %s" % (target.url, ", ".join("%s %d" % pair for pair in target.counts.items())), file=sys.stderr)
    sys.exit(1 if any(target.counts["failed"] == target.counts["scrapes"] for target in targets) else 0)


if __name__ == "__main__":
    main()
