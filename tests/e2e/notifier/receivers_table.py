#!/usr/bin/env python3
"""receivers_table.py PITWALL [--issues N] [--kills N] [--update]: sends issues to ten receivers, three of which are faulty (dead, slow, or returning
500), while the process that runs the notifier is repeatedly killed (kill -9). Then it repeats the run with only the seven healthy receivers.

Each healthy receiver must get each issue in at least one notification. A delay is measured from the event's time to its arrival, so it includes kills
and restarts. An issue whose first notification is prevented by a kill arrives with the end of its incident, LIFETIME later. Compared with the run
without faulty receivers, the median delay must at most double, and p99 at most double plus LIFETIME. A receiver that waits for the slow one misses
issues and exceeds the p99 limit. --update writes the table to docs/notify.md. Of the healthy receivers, four are notified of incidents, and three are
notified of every event.
"""
import argparse
import collections
import datetime
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, PATIENCE, Pitwall, wait_for, write  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PAGE = os.path.join(ROOT, "docs", "notify.md")
HEALTHY = ["incidents-%d" % i for i in range(4)] + ["events-%d" % i for i in range(3)]
LIFETIME = 8  # seconds between the start and the end of an issue
RULES = """
groups:
- name: numbers
  interval: 1s
  rules:
  - alert: Numbered
    expr: max_over_time(train_number[%ds]) > 0
    labels: {severity: warning}
""" % LIFETIME
# Each n raises one issue that lasts 8 seconds, so the number of open issues stays small. The end of the incident lists all issues.
TRAINING = """
import sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
issues, seconds = int(sys.argv[2]), float(sys.argv[3])
pitwall.init(job="table", rank=0)
for n in range(issues):
    pitwall.log(number=1.0, labels={"n": str(n)})
    time.sleep(seconds / issues)
time.sleep(600)
"""


class Hooks(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Hook)
        self.lock = threading.Lock()
        self.seen = collections.defaultdict(dict)  # receiver -> issue -> delay of its first notification in seconds
        self.attempts = collections.Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self, receiver, body):
        event = json.loads(body)
        when = datetime.datetime.fromisoformat(event["time"][:26] + "+00:00").timestamp()
        data = event["data"]
        with self.lock:
            # An event contains the number of its issue; a notification contains the IDs of all issues.
            for issue in data.get("issue_ids") or [data["labels"]["n"]]:
                self.seen[receiver].setdefault(issue, time.time() - when)


class Hook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        receiver = self.path[1:]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.attempts[receiver] += 1
        if receiver == "slow":
            time.sleep(14)
        if receiver in HEALTHY:
            self.server.take(receiver, body)
        self.send_response(500 if receiver == "broken" else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # the notifier was killed


def dead_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(binary, issues, kills, with_bad):
    work = tempfile.mkdtemp(prefix="pitwall-table-")
    hooks = Hooks()
    pitwall = training = None
    try:
        urls = {name: "http://127.0.0.1:%d/%s" % (hooks.server_port, name) for name in HEALTHY}
        if with_bad:
            urls.update({name: "http://127.0.0.1:%d/%s" % (hooks.server_port, name) for name in ("slow", "broken")})
            urls["dead"] = "http://127.0.0.1:%d/" % dead_port()
        lines = ["    - {name: %s, url: \"%s\", notify: %s, notify_symptoms: %s}" % (
            name, url, "incidents" if name.startswith("incidents") else "events", "false" if name.startswith("incidents") else "true")
            for name, url in urls.items()]
        config = write(os.path.join(work, "pitwall.yaml"), "insights: {enabled: false}\nnotifier:\n  webhooks:\n" + "\n".join(lines) + "\n")
        rules = write(os.path.join(work, "rules.yaml"), RULES)
        sock = os.path.join(work, "c.sock")
        seconds = 4.0 * kills

        def start(number):
            return Pitwall(binary, os.path.join(work, "log-%d" % number), "--config", config, "--data-dir", os.path.join(work, "data"),
                           "--rules", rules, "--socket", sock, "--node", "n", "--interval", "1s")
        pitwall = start(0)
        training = subprocess.Popen([sys.executable, "-c", TRAINING, CLIENT, str(issues), str(seconds)], env=dict(os.environ, PITWALL_SOCKET=sock))
        begun = time.monotonic()
        for kill in range(kills):
            wait_for("the next kill", lambda: time.monotonic() - begun > seconds * (kill + 0.7) / kills)
            pitwall.kill()
            pitwall = start(kill + 1)
        try:
            wait_for("all issues at all healthy receivers", lambda: all(len(hooks.seen[name]) >= issues for name in HEALTHY), PATIENCE)
        except AssertionError as late:
            print("receivers_table: %s" % late, file=sys.stderr)
        with hooks.lock:
            delays = {name: sorted(hooks.seen[name].values()) for name in HEALTHY}
        return delays, dict(hooks.attempts), [sum(1 for _ in hooks.seen[name]) for name in HEALTHY]
    finally:
        for process in (pitwall and pitwall.process, training):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        hooks.shutdown()
        hooks.server_close()
        shutil.rmtree(work)


def quantile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("inf")


def p99(values):
    return quantile(values, 0.99)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pitwall")
    parser.add_argument("--issues", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    binary = os.path.abspath(options.pitwall)
    alone, _, _ = run(binary, options.issues, options.kills, False)
    beside, attempts, _ = run(binary, options.issues, options.kills, True)
    rows = ["| receiver | issues of %d | missing | p99 delay without faulty receivers | p99 delay with faulty receivers |" % options.issues,
            "|---|---|---|---|---|"]
    failed = 0
    for kind in ("incidents", "events"):
        names = [name for name in HEALTHY if name.startswith(kind)]
        together = [sorted(sum((run_[name] for name in names), [])) for run_ in (alone, beside)]
        for name in names:
            missing = options.issues - len(beside[name])
            rows.append("| %s | %d | %d | %.2f s | %.2f s |" % (name, len(beside[name]), missing, p99(alone[name]), p99(beside[name])))
            failed += missing > 0 or len(alone[name]) < options.issues
        # The ratio covers all receivers of a kind, because the result for a single receiver depends on the timing of the kills.
        medians = [quantile(delays, 0.5) for delays in together]
        rows.append("| all of %s | | | %.2f s (median %.2f s) | %.2f s (median %.2f s) |" % (kind, p99(together[0]), medians[0], p99(together[1]), medians[1]))
        failed += not medians[1] <= 2 * medians[0]
        failed += not p99(together[1]) <= 2 * p99(together[0]) + LIFETIME
    rows.append("| slow, broken, dead | attempts: %d, %d, refused | | | |" % (attempts.get("slow", 0), attempts.get("broken", 0)))
    table = "\n".join(rows) + "\n"
    print(table)
    if options.update:
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        page, count = re.subn(r"(<!-- receivers_table -->\n).*?(<!-- end -->)", lambda m: m.group(1) + table + m.group(2), page, flags=re.S)
        assert count == 1, "no place for the table in " + PAGE
        write(PAGE, page)
    checks = len(HEALTHY) + 4
    print("%d passed, %d failed" % (checks - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
