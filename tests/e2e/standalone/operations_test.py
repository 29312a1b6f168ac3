#!/usr/bin/env python3
"""Tests operator tasks with the whole binary: reload, TLS, tokens, exit codes, and a job stopped by the executor.

operations_test.py BINARY DUMP_TOPIC
"""
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unicodedata
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import PATIENCE, REPO, Hooks, Pitwall, fetch, step_rules, train, wait_for, write  # noqa: E402

BINARY = DUMP_TOPIC = None

RULES = step_rules("""
  - alert: LossNotFinite
    expr: train_loss != train_loss
    needs: [train_loss]
    labels: {severity: critical}
""", group="g")


def status_of(url, token=None):
    headers = {"Authorization": "Bearer " + token} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def command(*arguments):
    """Runs the binary and returns (exit code, stdout, stderr)."""
    done = subprocess.run([BINARY] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


class Operations(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-e2e-")
        self.pitwall = None
        self.rules = self.write("rules.yaml", RULES)

    def tearDown(self):
        if self.pitwall:
            self.pitwall.kill()
        shutil.rmtree(self.work)

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, text):
        return write(self.path(name), text)

    def start(self, *flags):
        self.pitwall = Pitwall(BINARY, self.path("log"), "--data-dir", self.path("data"), "--rules", self.rules, "--socket",
                               self.path("c.sock"), *flags)
        return self.pitwall

    def reload(self, pattern):
        """Sends SIGHUP and waits until a new log line contains the pattern. Returns the new part of the log."""
        before = len(self.pitwall.log())
        self.pitwall.process.send_signal(signal.SIGHUP)
        return wait_for(pattern, lambda: pattern in self.pitwall.log()[before:] and self.pitwall.log()[before:])

    def ticks_per_second(self):
        ticks = lambda: self.pitwall.metric("pitwall_collector_ticks_total")
        first, began = ticks(), time.monotonic()
        time.sleep(3)
        return (ticks() - first) / (time.monotonic() - began)

    def test_reload_changes_interval_and_rules(self):
        config = self.write("pitwall.yaml", "collector:\n  interval: 1s\n")
        self.start("--config", config)
        self.assertLess(self.ticks_per_second(), 1.5)
        self.write("pitwall.yaml", "collector:\n  interval: 200ms\n")
        said = self.reload("collector.interval: 1s -> 200ms")
        self.assertIn("rules have not changed", said)
        self.assertGreater(self.ticks_per_second(), 3)

        self.write("pitwall.yaml", "collector:\n  interval: 300ms\n")
        self.assertIn(config + ":2:13: interval must be one of 100ms", self.reload("nothing has changed"))
        # If the rules do not compile, the new interval is not applied either.
        self.write("pitwall.yaml", "collector:\n  interval: 1s\n")
        self.write("rules.yaml", RULES.replace("!=", "!!"))
        self.assertIn("rules.yaml:8:", self.reload("nothing has changed"))
        self.assertGreater(self.ticks_per_second(), 3)

        self.write("pitwall.yaml", "http: {token_file: t}\ncollector: {interval: 200ms}\n")
        self.write("rules.yaml", RULES.replace("critical", "warning"))
        self.assertIn("to apply other changes", self.reload("becomes active"))
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())

    def test_tls_works_on_both_listeners(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed; the test needs it to create a certificate")
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=pitwall-test", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        tls = "{tls: {certificate: %s, key: %s}}" % (certificate, key)
        config = self.write("pitwall.yaml", "http: %s\ngrpc: %s\n" % (tls, tls))
        code, printed, _ = command("standalone", "--config", config, "--print-config")
        self.assertEqual((code, printed.count("certificate: '%s'" % certificate)), (0, 2))
        self.start("--config", config)
        self.assertTrue(self.pitwall.http.startswith("https://"))
        trusting = ssl.create_default_context(cafile=certificate)
        self.assertEqual(fetch(self.pitwall.http + "/healthz", context=trusting)[1], "ok\n")
        with self.assertRaises(urllib.error.URLError):
            fetch(self.pitwall.http + "/healthz")  # the certificate is not trusted
        self.assertEqual(command("issues", "list", "--target", self.pitwall.grpc, "--ca-file", certificate)[0], 0)
        self.assertEqual(command("issues", "list", "--target", self.pitwall.grpc)[0], 1)
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())

    def test_non_loopback_listener_requires_tokens(self):
        self.start("--http-listen", "0.0.0.0:0")
        self.assertEqual(self.pitwall.log().count("without TLS"), 1)
        token, act = (self.pitwall.said(r"HTTP listens on an address other than loopback .*role %s, .*: ([0-9a-f]{48})\n" % role).group(1)
                      for role in ("view", "act"))
        self.assertNotEqual(token, act)
        http = self.pitwall.http.replace("0.0.0.0", "127.0.0.1")
        for path, without in (("/metrics", 200), ("/healthz", 200), ("/readyz", 200), ("/metrics/issues", 401)):
            self.assertEqual(status_of(http + path), without, path)
            self.assertEqual(status_of(http + path, token), 200, path)
            self.assertEqual(status_of(http + path, act), 200, path)
        refused = dict(re.findall(r'^pitwall_http_refused_total\{reason="([a-z_]+)"\} (\d+)$', fetch(http + "/metrics")[1], re.M))
        self.assertEqual((refused["no_token"], refused["slow_header"]), ("1", "0"))

    def test_tokens_are_read_from_files_and_environment(self):
        self.write("view", "look\n")
        for given, fault in (("token_file: %s, act_token_file: %s" % ((self.path("view"),) * 2), "must differ"),
                             ("act_token_file: 'env:PITWALL_NO_SUCH'", "token is empty")):
            config = self.write("pitwall.yaml", "http: {listen: '127.0.0.1:0', %s}\n" % given)
            code, _, err = command("standalone", "--config", config, "--data-dir", self.path("data"), "--grpc-listen", "127.0.0.1:0")
            self.assertEqual(code, 2, err)
            self.assertIn(fault, err)
        config = self.write("pitwall.yaml", "grpc: {token_file: %s}\nhttp: {token_file: %s}\n" % ((self.path("view"),) * 2))
        self.start("--config", config)
        self.assertEqual(status_of(self.pitwall.http + "/metrics/issues"), 401)
        self.assertEqual(status_of(self.pitwall.http + "/metrics/issues", "look"), 200)
        self.assertEqual(command("issues", "list", "--target", self.pitwall.grpc)[0], 1)
        self.assertEqual(command("issues", "list", "--target", self.pitwall.grpc, "--token-file", self.path("view"))[0], 0)

    def test_control_characters_never_reach_the_terminal(self):
        nasty = "\x1b[2J\x9b31m\u202e\u2066\x07"
        self.write("bad%s.yaml" % nasty, "groups: [")
        metrics = self.write("m.om", '# TYPE x gauge\nx{zone="%s"} 1 1\nx{zone="%s"} 1 2\n# EOF\n' % (nasty, nasty))
        rules = self.write("r.yaml", "groups:\n- name: g\n  interval: 1s\n  rules:\n  - alert: A\n    expr: x > 0\n"
                                     "    annotations: {summary: 'in {{ $labels.zone }}'}\n")
        self.write("data", "")
        runs = [("rules", "check", self.path("bad%s.yaml" % nasty)), ("rules", nasty), ("backtest", nasty), (nasty,),
                ("issues", "list", "--target", "127.0.0.1:1", "--job", nasty), ("issues", "watch", "--count", nasty),
                ("actions", "list", "--input", self.path(nasty)), ("standalone", "--config", self.path(nasty)),
                ("standalone", "--data-dir", nasty, "--print-config"), ("baseline", "--max-bytes", nasty),
                ("backtest", "--format", "openmetrics", "--rules", rules, "--input", metrics)]
        for arguments in runs:
            _, out, err = command(*arguments)
            self.assertTrue(out + err, arguments)
            for character in out + err:
                self.assertFalse(unicodedata.category(character) == "Cc" and character != "\n" or character in "\u202e\u2066",
                                 (arguments, out, err))
        self.assertIn("in \\\\x1b[2J", out)
        printed = self.write("printed.yaml", command("standalone", "--data-dir", nasty, "--print-config")[1])
        self.assertEqual(command("standalone", "--config", printed, "--print-config")[1], open(printed).read())

    def test_exit_codes_are_as_documented(self):
        self.write("bad.yaml", "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: rat(x[5m])\n")
        # Like promtool, this command does not compile a file without tests.
        bad = self.write("bad_test.yaml", "rule_files: [bad.yaml]\ntests: [{interval: 1m}]\n")
        good = self.write("good_test.yaml", """
rule_files: [rules.yaml]
tests:
- clock: step
  input_series: [{series: train_loss, values: '1 NaN'}]
  alert_rule_test: [{eval_time: 0, alertname: LossNotFinite}]
""")
        code, out, err = command("rules", "test", bad, good)
        self.assertEqual((code, out), (1, "1 passed, 1 failed\n"), err)
        self.assertIn("bad.yaml:5:11", err)
        self.assertEqual(command("rules", "test", good, self.path("none.yaml"))[0], 2)
        code, _, err = command("issues", "watch", "--count", "abc", "--target", "127.0.0.1:1")
        self.assertEqual(code, 2)
        self.assertIn('--count: must be an integer above 0 (got "abc")', err)
        self.assertEqual(command("issues", "list", "--target", "127.0.0.1:1")[0], 1)

    def records(self, topic):
        done = subprocess.run([DUMP_TOPIC, self.path("data"), topic], stdout=subprocess.PIPE, check=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def actions(self):
        return self.records("pitwall.actions")

    def issue_events(self, kind, alert):
        """Returns the data of all events in the log with this kind and alert."""
        return [event["data"] for event in self.records("pitwall.issues")
                if event["type"] == "io.pitwall.issue." + kind and event["data"].get("alert") == alert]

    def test_reload_removes_rules_with_open_issues(self):
        rules = """
groups:
- name: goes
  interval: 1s
  rules:
  - alert: Goes
    params: {low: -1, high: 100}
    expr: train_loss > $low and train_loss < $high
    annotations: {summary: 'above {{ $params.low }}'}
- name: stays
  interval: 1s
  rules:
  - {alert: Stays, params: {most: 50}, expr: train_loss < $most}
"""
        first = rules.index("- name: goes")
        second = rules.index("- name: stays")
        self.write("rules.yaml", rules)
        config = self.write("pitwall.yaml", "log_level: debug\n")
        self.start("--config", config, "--interval", "200ms")
        name_of = lambda: command("rules", "check", "--explain", self.rules)[1].split("\n")[0].removeprefix("rule set ")
        # The rules are compiled only once.
        self.assertEqual(self.pitwall.log().count("rules: compiled rule set"), 1, self.pitwall.log())
        self.assertIn("compiled rule set %s" % name_of(), self.pitwall.log())
        training = train(self.path("c.sock"), 100000, nan_from=100000)
        try:
            for alert in "Goes", "Stays":
                wait_for(alert, lambda: self.issue_events("found", alert))
            self.write("rules.yaml", rules[:first] + rules[second:])
            self.assertIn("rule set %s becomes active" % name_of(), self.reload("becomes active"))
            (gone,) = wait_for("the end of Goes", lambda: self.issue_events("resolved", "Goes"))
            self.assertEqual((gone["end_reason"], gone["parameters"], gone["summary"]),
                             ("rule_removed", {"low": -1, "high": 100}, "above -1"))
            # The same applies if a killed process restarts with the new rules.
            self.pitwall.kill()
            self.start("--config", config, "--interval", "200ms")
            self.write("rules.yaml", rules[:second])
            self.reload("becomes active")
            (gone,) = wait_for("the end of Stays", lambda: self.issue_events("resolved", "Stays"))
            self.assertEqual((gone["end_reason"], gone["parameters"]), ("rule_removed", {"most": 50}))
            wait_for("Goes again", lambda: len(self.issue_events("found", "Goes")) == 2)
        finally:
            training.kill()
            training.wait()
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())
        code, out, err = command("backtest", "--format", "log", "--input", self.path("data"), "--verify")
        self.assertEqual(code, 0, out + err)
        self.assertIn("bit-identical", out)

    def test_executor_stops_a_job_once(self):
        hooks = Hooks()
        self.addCleanup(hooks.close)
        config = self.write("pitwall.yaml", json.dumps({
            "executor": {"policies": [{"rule": "rules/g/LossNotFinite", "mode": "live", "grace": "2s"}]},
            "notifier": {"webhooks": [{"name": "all", "url": hooks.url("/all")}, {"name": "none", "url": hooks.url("/none"), "actions": "none"},
                                      {"name": "minor", "url": hooks.url("/minor"), "severities": ["info"]},
                                      {"name": "jobs", "url": hooks.url("/jobs"), "types": ["job.changed"], "actions": "none"}]}}))
        self.start("--config", config, "--executor", "--interval", "200ms")
        fine = train(self.path("c.sock"), 120, nan_from=1000)
        self.assertEqual(fine.wait(PATIENCE), 0)
        doomed = train(self.path("c.sock"), 100000, nan_from=60)
        try:
            self.assertEqual(doomed.wait(PATIENCE), 143)
        finally:
            doomed.kill()
        wait_for("the outcome to be recorded", lambda: len(self.actions()) >= 2)
        # Each receiver is notified once, with the incident's key. This includes the receiver with filters, but not the receiver that excludes
        # actions.
        received = lambda path: [json.loads(body) for _, body in hooks.said(path)]
        wait_for("the notifications of the action",
                 lambda: all(any(e["type"] == "io.pitwall.action.done" for e in received(path)) for path in ("/all", "/minor")))
        found = next(e for e in received("/all") if e["type"] == "io.pitwall.incident.found")
        acts = {path: [(e["type"][11:], e["subject"], e["data"]["incident"]) for e in received(path) if "action" in e["type"]]
                for path in ("/all", "/minor", "/none")}
        both = [("action.decided", found["subject"], found["subject"]), ("action.done", found["subject"], found["subject"])]
        self.assertEqual((acts["/all"], acts["/none"]), (both, []))
        self.assertEqual([act[0] for act in acts["/minor"]], ["action.decided", "action.done"])
        # The event for the end of the job contains the rule.
        by = "stopped by rule rules/g/LossNotFinite"
        end = wait_for("the job's end", lambda: [e for e in received("/jobs")
                                               if e["data"].get("job_change") == "ended" and e["data"]["end_detail"] == "stopped"])
        self.assertEqual(end[0]["data"]["summary"], by)
        wait_for("the job's end in jobs list", lambda: "ended: " + by in command("jobs", "list", "--data-dir", self.path("data"))[1])
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())
        decided, done = self.actions()
        self.assertEqual((decided["type"], done["type"]), ("io.pitwall.action.decided", "io.pitwall.action.done"))
        for action in decided, done:
            self.assertEqual((action["data"]["alert"], action["data"]["mode"]), ("LossNotFinite", "live"))
            self.assertEqual(action["data"]["issue"], decided["data"]["issue"])
        self.assertIn("rules/g/LossNotFinite", decided["data"]["why"])
        self.assertTrue(done["data"]["effect"])
        self.assertIn("executor: live: issues of rules that match rules/g/LossNotFinite stop their job", self.pitwall.log())
        code, out, _ = command("actions", "list", "--input", self.path("data"))
        lines = out.splitlines()
        self.assertEqual((code, len(lines)), (0, 2), out)
        self.assertRegex(lines[0], r"^\S+Z  DECIDED  stop  live     job \S+  rules/g/LossNotFinite  policy ")
        self.assertRegex(lines[1], r"^\S+Z  DONE     stop  live     job .*; " + re.escape(done["data"]["effect"]))
        code, out, _ = command("actions", "list", "--data-dir", self.path("data"), "--json", "--job", done["data"]["job"]["id"])
        self.assertEqual([json.loads(line) for line in out.splitlines()], [decided, done])
        self.assertEqual(command("actions", "list", "--input", self.path("data"), "--job", "none")[:2], (0, ""))
        self.assertEqual(command("actions", "list")[0], 2)

    def test_documented_dry_run_records_its_decision(self):
        """Runs the "Try it" commands from docs/actions.md with this test's directory and addresses."""
        with open(os.path.join(REPO, "docs", "actions.md"), encoding="utf-8") as page:
            server, training = re.findall(r"```\n(.*?)```", page.read().partition("## Try it")[2], re.S)
        folder = "/tmp/pitwall-actions"
        self.assertEqual(server, "pitwall standalone --executor --data-dir %s\n" % folder)
        self.pitwall = Pitwall(BINARY, self.path("log"), "--executor", "--data-dir", self.path("data"))
        self.assertIn("executor: dry run: decisions are recorded", self.pitwall.log())
        self.assertIn("mode: live", self.pitwall.log())
        done = subprocess.run(["bash", "-euc", training.replace(folder, self.path("data"))], cwd=REPO, capture_output=True, text=True, timeout=PATIENCE,
                              env=dict(os.environ, PATH=os.path.dirname(BINARY) + ":" + os.environ["PATH"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^\S+Z  DECIDED  stop  dry run  job my-job  \S+/LossNotFinite  label action=stop, no policy: dry run; ")


if __name__ == "__main__":
    DUMP_TOPIC = os.path.abspath(sys.argv.pop(2))
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2, warnings="ignore")
