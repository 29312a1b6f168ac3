#!/usr/bin/env python3
"""Overrides a rule's parameter for one live job. The override must raise an issue, survive a reload and a kill, and record its requester. A replay
must produce equal events.

usage: parameters_test.py PITWALL
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

BINARY = None
# The maximum loss in harness.TRAINING is 9.
RULES = """groups:
- name: g
  interval: 1s
  rules:
  - alert: LossHigh
    params: {limit: {value: 100, help: What a loss may be.}}
    expr: max_over_time(train_loss[10s]) > $limit
    labels: {severity: warning}
    annotations: {summary: "the loss is above {{ $params.limit }}"}
"""
MORE = RULES + """  - alert: More
    expr: train_loss > 1000
"""
RULE = "mine/g/LossHigh"


class Parameters(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pitwall-parameters-")
        self.data = self.path("data")
        self.token = harness.write(self.path("act"), "a token of the role act, of this test\n")
        self.rules = harness.write(self.path("mine.yaml"), RULES)
        self.config = harness.write(self.path("pitwall.yaml"), "http: {act_token_file: %s}\nrules: {files: [%s]}\nreload_interval: 200ms\n"
                                    % (self.token, self.rules))
        self.service = None
        self.start()
        self.training = harness.train(self.path("c.sock"), 100_000, 100_000)

    def tearDown(self):
        for process in (self.training, self.service.process):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        self.service = harness.Pitwall(BINARY, self.path("log"), "--data-dir", self.data, "--config", self.config, "--socket", self.path("c.sock"))
        self.api = self.service.http + "/api/pitwall/v1"

    def get(self, path, **parameters):
        return json.loads(harness.fetch("%s%s?%s" % (self.api, path, urllib.parse.urlencode(parameters)))[1])

    def job(self):
        listed = self.get("/jobs", name="e2e")["jobs"]
        return listed and listed[0]["id"]

    def state(self):
        """Returns the state of the rule's newest issue, "open" or "over"."""
        issues = [one for one in self.get("/issues", job=self.job())["issues"] if one["rule"] == RULE]
        return issues and ("open" if issues[0]["open"] else "over")

    def parameter(self):
        """Returns [(value, source)] of the rule's parameters, as in the API."""
        for rule in self.get("/rules", job=self.job())["rules"]:
            if rule["rule"] == RULE:
                return [(one["now"], one["source"]) for one in rule["definition"]["parameters"]]
        return None

    def command(self, *words):
        run = subprocess.run([BINARY] + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        return run.returncode, run.stdout, run.stderr

    def set(self, name, value, *flags):
        return self.command("jobs", "parameter", self.job(), RULE, name, value, "--reason", "to see", "--url", self.service.http, "--token-file",
                            self.token, *flags)

    def ask(self, **parameters):
        with open(self.token) as token:
            headers = {"Authorization": "Bearer " + token.read().strip()}
        request = urllib.request.Request("%s/job/parameter?%s" % (self.api, urllib.parse.urlencode(parameters)), method="POST", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_rule_parameter_of_live_job_can_be_changed(self):
        harness.wait_for("the rule to be active", lambda: self.job() and self.parameter() == [("100", "rule")])
        self.assertFalse(self.state())

        # An invalid request fails immediately, and the error contains the location and the cause.
        code, _, err = self.set("limt", "5")
        self.assertEqual((code, "parameter: rule \"mine/g/LossHigh\" has no parameter \"limt\" (did you mean \"limit\"?)" in err), (2, True), err)
        status, body = self.ask(job=self.job(), rule=RULE, parameter="limit", value="much", reason="x")
        self.assertEqual((status, json.loads(body)["error"]["place"]), (400, "value"))

        code, out, err = self.set("limit", "5")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"^limit of mine/g/LossHigh: 100 -> 5, in force \(rule set [0-9a-f]{32}\)\n$")
        harness.wait_for("the issue", lambda: self.state() == "open")
        issue = self.get("/issues", job=self.job())["issues"][0]
        self.assertEqual(issue["summary"], "the loss is above 5")
        self.assertEqual(self.parameter(), [("5", "set")])

        # The parameter survives both a reload with another rule and a kill.
        os.replace(harness.write(self.rules + ".new", MORE), self.rules)
        harness.wait_for("the reload", lambda: self.service.said(r"rule set [0-9a-f]+ becomes active"))
        harness.wait_for("the new rule", lambda: any(one["rule"] == "mine/g/More" for one in self.get("/rules", job=self.job())["rules"]))
        self.assertEqual((self.state(), self.parameter()), ("open", [("5", "set")]))
        self.service.kill()
        self.start()
        harness.wait_for("the job after the restart", lambda: self.job() and self.parameter() == [("5", "set")])
        self.assertEqual(self.state(), "open")

        # After a reset, the issue ends. The issue's actions record who made each change.
        code, out, err = self.set("limit", "null", "--json")
        self.assertEqual(code, 0, err)
        answer = json.loads(out)
        self.assertEqual(answer["type"], "io.pitwall.action.done")
        self.assertEqual(answer["data"]["parameter"], {"rule": RULE, "name": "limit", "value": None, "before": 5})
        harness.wait_for("the issue to end", lambda: self.state() == "over")
        self.assertEqual(self.parameter(), [("100", "rule")])
        code, out, err = self.set("limit", "7")
        self.assertEqual(code, 0, err)
        job = self.job()
        actions = [(event["type"].split(".")[-1], event["data"]["principal"]) for event in self.get("/issue", job=job, id=issue["id"])["actions"]]
        self.assertEqual(actions, [("requested", "act"), ("done", "act")] * 3)
        self.assertIn("limit = 7  (set by a user; default 100)", self.command("jobs", "parameters", job, "--url", self.service.http)[1])

        self.training.kill()
        self.service.stop()
        shown = self.command("issues", "show", issue["id"], "--data-dir", self.data)[1]
        self.assertIn("to see: limit of mine/g/LossHigh: 100 -> 5 (by act)", shown)
        self.assertRegex(self.command("rules", "status", "--job", job, "--data-dir", self.data)[1], r"limit = 7  \(set by act, 2\d\d\d-")
        code, out, err = self.command("backtest", "--verify", "--input", self.data)
        self.assertEqual(code, 0, out + err)
        print(out.strip().splitlines()[-1])


if __name__ == "__main__":
    BINARY = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
