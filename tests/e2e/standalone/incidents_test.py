#!/usr/bin/env python3
"""End-to-end test of incidents: a cause on the step clock, its symptom on the time clock, `issues list`, webhooks, and a replay.

incidents_test.py BINARY
"""
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import PATIENCE, Pitwall, fetch, train, wait_for, write  # noqa: E402

BINARY = None

RULES = """
groups:
- name: steps
  clock: step
  interval: 1
  rules:
  - alert: LossExploded
    expr: max_over_time(train_loss[20]) > 5
    fold: [rank]
    explains: [LossStaysHigh]
    labels: {severity: critical}
- name: times
  interval: 1s
  rules:
  - alert: LossStaysHigh
    expr: max_over_time(train_loss[30s]) > 5
    for: 2s
    labels: {severity: warning}
"""

CONFIG = """
notifier:
  allow_insecure: true
  webhooks:
    - {name: pager, url: "http://127.0.0.1:%(port)d/pager", notify: events}
    - {name: team, url: "http://127.0.0.1:%(port)d/team"}
    - {name: archive, url: "http://127.0.0.1:%(port)d/archive", notify_symptoms: true}
"""


class Receiver(http.server.BaseHTTPRequestHandler):
    received = []  # (path, last word of the event type, alert or issue IDs)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = body["data"]
        self.received.append((self.path[1:], body["type"].rsplit(".", 1)[1], data.get("alert") or data["issue_ids"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Incidents(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-e2e-")
        self.addCleanup(shutil.rmtree, self.work)
        self.hooks = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        self.addCleanup(self.hooks.server_close)
        self.addCleanup(self.hooks.shutdown)
        threading.Thread(target=self.hooks.serve_forever, daemon=True).start()

    def issues(self, *flags):
        return subprocess.run([BINARY, "issues", "list", "--target", self.pitwall.grpc, "--all"] + list(flags),
                              stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    def run_command(self, *arguments, code=0):
        done = subprocess.run([BINARY] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def compare_commands_on_server_and_log(self, cause, data):
        job, server, log = cause["job"]["id"], ("--target", self.pitwall.grpc), ("--data-dir", data)
        incident = cause["incident"]
        page = self.run_command("issues", "show", incident[:8], *server)
        for row in (r"(?m)^issue +%s$" % incident, r"(?m)^name +LossExploded", r"(?m)^state +cleared at|^state +ended: ",
                    r"(?m)^evidence +\S", r"(?m)^incident +Incident %s" % incident[:12], r"  RESOLVED  |  ENDED  "):
            self.assertRegex(page, row)
        self.assertRegex(self.run_command("issues", "show", incident[:8], *log), r"(?m)^actions +none$")
        # Like actions, notifications are recorded only in the log.
        of_log = [line for line in self.run_command("issues", "show", incident, "--json", *log).splitlines()
                  if '"io.pitwall.notification.' not in line]
        self.assertEqual(self.run_command("issues", "show", incident, "--json", *server).splitlines(), of_log)
        self.check_notification_records(incident, job, log)
        self.assertIn("not found", self.run_command("issues", "show", "0" * 32, *server, code=1))
        self.assertIn("not found", self.run_command("issues", "show", "0" * 32, *log, code=1))
        self.assertEqual(len(self.run_command("issues", "list", "--all", "--rule", "LossExploded", *server).splitlines()), 1)
        self.assertEqual(len(self.run_command("issues", "list", "--all", "--rule", "LossExploded", *log).splitlines()), 1)
        wait_for("the job's end", lambda: "ended: completed" in self.run_command("jobs", "list", *server))
        for way in (server, log):
            shown = json.loads(self.run_command("jobs", "show", job, "--json", *way))
            self.assertEqual((shown["state"], shown["end_detail"]), ("ended", "completed"))
            self.assertEqual([a["end_detail"] for a in shown["attempts"]], ["completed"])
            self.assertEqual(len(shown["ended_issues"]), 2)
            self.assertIn("IssuesFound", {rule["verdict"] for rule in shown["rules"]})
            self.assertNotIn("Unknown", {rule["verdict"] for rule in shown["rules"]})
            self.assertNotIn("Stopped", {rule["status"] for rule in shown["rules"]})
            statuses = [json.loads(line) for line in self.run_command("rules", "status", "--job", job, "--json", *way).splitlines()]
            self.assertEqual(statuses, shown["rules"])
            self.assertRegex(self.run_command("rules", "status", "--job", job, "--rule", "LossExploded", *way),
                             r"^IssuesFound +\S*LossExploded  since ")
            self.assertIn("not found", self.run_command("jobs", "show", "nobody", *way, code=1))

    def check_notification_records(self, incident, job, log):
        received = [(path, what) for path, what, about in Receiver.received if about == "LossExploded" or incident in about]
        records = []

        def all_recorded():
            lines = self.run_command("issues", "show", incident, "--json", *log).splitlines()
            records[:] = [json.loads(line)["data"] for line in lines if '"io.pitwall.notification.' in line]
            return len(records) >= len(received)
        wait_for("a record of each notification", all_recorded)
        words = {"resolved": "ended"}
        self.assertEqual(sorted((one["receiver"], one["what"]) for one in records), sorted((path, words.get(what, what)) for path, what in received))
        self.assertTrue(all(one["kind"] == "webhook" and incident in one["issues"] and "error" not in one for one in records))
        self.assertRegex(self.run_command("issues", "show", incident[:8], *log), r"(?m)^notified +\S+Z  webhook \S+: found")
        query = "/api/pitwall/v1/issue?job=%s&id=%s" % (urllib.parse.quote(job), incident)
        wait_for("the history", lambda: len(json.loads(fetch(self.pitwall.http + query)[1])["notifications"]) == len(records))

    def test_symptom_is_listed_with_cause_but_not_notified(self):
        rules = write(os.path.join(self.work, "rules.yaml"), RULES)
        config = write(os.path.join(self.work, "pitwall.yaml"), CONFIG % {"port": self.hooks.server_port})
        data, socket = os.path.join(self.work, "data"), os.path.join(self.work, "c.sock")
        self.pitwall = Pitwall(BINARY, os.path.join(self.work, "log"), "--config", config, "--data-dir", data, "--rules", rules,
                               "--socket", socket, "--node", "n", "--interval", "200ms")
        self.addCleanup(self.pitwall.kill)
        self.assertEqual(train(socket, 300, nan_from=1000).wait(PATIENCE), 0)

        def sent(hook):
            return [(what, alert) for path, what, alert in list(Receiver.received) if path == hook]
        wait_for("the ends at the archive", lambda: sum(what == "resolved" for what, _ in sent("archive")) == 2)
        self.assertEqual({alert for _, alert in sent("archive")}, {"LossExploded", "LossStaysHigh"})
        wait_for("the end at the pager", lambda: ("resolved", "LossExploded") in sent("pager"))
        self.assertEqual(sent("pager"), [("found", "LossExploded"), ("resolved", "LossExploded")])
        self.assertGreaterEqual(self.pitwall.metric("pitwall_webhook_suppressed_total"), 2)
        wait_for("the end at the team", lambda: len(sent("team")) == 2)
        self.assertEqual([what for what, _ in sent("team")], ["found", "ended"])  # events of the incident, not of its issues
        team = sent("team")

        symptom, cause = sorted((json.loads(line)["data"] for line in self.issues("--json")), key=lambda i: i["severity"],
                                reverse=True)
        self.assertEqual((cause["alert"], symptom["alert"]), ("LossExploded", "LossStaysHigh"))
        self.assertEqual(cause["incident"], symptom["incident"])
        self.assertNotIn("root_cause", cause)
        incident = cause["incident"]
        self.assertEqual(symptom["root_cause"], incident)  # the incident has the same ID as the cause
        issue_ids = {json.loads(line)["id"] for line in self.run_command("issues", "show", incident, "--json", "--target", self.pitwall.grpc)
                     .splitlines()[:1]}
        self.assertLessEqual(issue_ids, set(team[0][1]))
        self.assertEqual(len(team[1][1]), 2)
        shown = self.issues("--incident", incident[:10])
        self.assertEqual(len(shown), 3)
        self.assertRegex(shown[0], r"^Incident %s of job .* lasted from \S+Z to \S+Z and has 2 issues; its root cause is LossExploded\b.* \(explains 1\)\.$"
                         % incident[:12])
        line = next(line for line in shown if "LossStaysHigh" in line)
        self.assertRegex(line, r"because of LossExploded(\{.*\})?  \[incident %s\]$" % incident[:12])
        self.assertEqual(self.issues("--incident", "0" * 32), ["incident not found"])

        self.compare_commands_on_server_and_log(cause, data)

        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())
        verified = subprocess.run([BINARY, "backtest", "--verify", "--input", data], stdout=subprocess.PIPE, text=True)
        self.assertEqual(verified.returncode, 0, verified.stdout)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
