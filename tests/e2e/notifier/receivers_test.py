#!/usr/bin/env python3
"""End-to-end test of receivers with real servers: Alertmanager, an SMTP server with TLS and AUTH, an HTTP gateway, and Slack's JSON format.
PagerDuty's Events API is a local HTTP server.

receivers_test.py PITWALL
"""
import email
import email.policy
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import PATIENCE, Hooks, Pitwall, fetch, step_rules, train, wait_for, write  # noqa: E402

BINARY = None
HERE = os.path.dirname(os.path.abspath(__file__))
DEBIAN_PYTHON = "/usr/bin/python3"  # the interpreter that has Debian's python3-aiosmtpd

# LossHigh clears repeatedly. LossExploded stays open until the job ends.
RULES = step_rules("""
  - alert: LossExploded
    expr: max_over_time(train_loss[20]) > 5
    labels: {severity: critical}
    annotations: {summary: "the loss of <rank> {{ $labels.rank }} is \\"high\\" & stays so", suggestion: "look at it"}
  - alert: LossHigh
    expr: train_loss > 5
    labels: {severity: warning}
  - alert: Quiet
    expr: max_over_time(train_loss[20]) > 6
    labels: {severity: info}
""")
CONFIG = """
external_url: https://pitwall.example
http: {act_token_file: %(dir)s/act}
notifier:
  ca_file: %(dir)s/cert.pem
  alertmanagers:
    - {name: am, urls: ["http://127.0.0.1:%(am)d", "http://127.0.0.1:%(gone)d", "http://127.0.0.1:%(other)d"], resend_interval: 1s, labels: {cluster: lab},
       notify_symptoms: true, from_start: true}
  slack:
    - {name: slack, url: "file:%(dir)s/slack"}
  email:
    - {name: mail, host: localhost, port: %(smtp)d, user: pitwall, password: "file:%(dir)s/password", auth: plain,
       from: "Pitwall Wächter <pitwall@example.org>", to: ["Ops <ops@example.org>", gone@example.org, "second@example.org"], severities: [critical]}
    - {name: mailtls, host: localhost, port: %(smtps)d, security: tls, user: pitwall, password: "file:%(dir)s/password", auth: login,
       from: pitwall@example.org, to: [ops@example.org], severities: [critical]}
    - {name: wrong, host: localhost, port: %(smtp)d, user: pitwall, password: "env:WRONG", from: pitwall@example.org, to: [ops@example.org]}
  gateways:
    - {name: sms, url: "http://127.0.0.1:%(gateway)d/sms", headers: {Authorization: "file:%(dir)s/header"}, secrets: {key: "file:%(dir)s/key"},
       body: '{"to": "+491", "key": "{{ $labels.secret_key }}", "text": "{{ $labels.text }}"}', success: ["202"]}
    - {name: info, url: "http://127.0.0.1:%(gateway)d/info", escape: form, notify: events, notify_symptoms: true,
       body: "rule={{ $labels.rule }}&state={{ $labels.state }}"}
  routes:
    - {matchers: ['severity="critical"'], receivers: [am, slack, mail, mailtls, wrong, sms]}
    - {matchers: ['severity="warning"', 'job=~"e2e|x"'], receivers: [am]}
    - {matchers: ['severity="info"'], receivers: [info]}
"""
ENQUEUE = "/v2/enqueue"
ROUTING_KEY = "0123456789abcdef-routing-key"
# LossHigh is a symptom of LossExploded, so both belong to one incident. The loss is at most 9.
PAGERDUTY_RULES = step_rules("""
  - alert: LossExploded
    expr: max_over_time(train_loss[20]) > 5
    labels: {severity: critical}
    annotations: {summary: "the loss of <rank> {{ $labels.rank }} is \\"high\\" & stays so"}
    explains: [LossHigh]
  - alert: LossHigh
    expr: max_over_time(train_loss[20]) > %d
    labels: {severity: warning}
""")
PAGERDUTY_CONFIG = """
external_url: https://pitwall.example
http: {act_token_file: %(dir)s/act}
reload_interval: 100ms
notifier:
  pagerduty:
    - {name: pager, url: "%(url)s", routing_key: "file:%(dir)s/routing_key"}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ReceiverTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-e2e-")
        self.addCleanup(shutil.rmtree, self.work)
        write(self.path("act"), "act-token-of-a-test")

    def path(self, name):
        return os.path.join(self.work, name)

    def start(self, command, **options):
        process = subprocess.Popen(command, **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()

    def run_pitwall(self, number):
        return Pitwall(BINARY, self.path("log-%d" % number), "--config", self.path("pitwall.yaml"), "--data-dir", self.path("data"),
                       "--rules", self.path("rules.yaml"), "--socket", self.path("c.sock"), "--node", "n", "--interval", "200ms",
                       variables={"WRONG": "not the password"})

    def silence(self, *arguments, code=0):
        done = subprocess.run([BINARY, "silence"] + list(arguments) + ["--url", self.pitwall.http, "--token-file", self.path("act")],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr


class Receivers(ReceiverTest):
    def setUp(self):
        super().setUp()
        self.gateway = Hooks({"/sms": 202, "/info": 204})
        self.addCleanup(self.gateway.close)
        self.ports = {"am": free_port(), "gone": free_port(), "other": free_port(), "smtp": free_port(), "smtps": free_port(),
                      "gateway": self.gateway.server_port, "dir": self.work}
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", self.path("key.pem"), "-out", self.path("cert.pem")],
                       check=True, capture_output=True)
        for name, text in (("password", "s3cret ä"), ("header", "Bearer of-the-gateway"), ("key", 'k"1'),
                           ("slack", "http://127.0.0.1:%d/services/T/B/slack-secret" % self.gateway.server_port)):
            write(self.path(name), text)
        os.mkdir(self.path("mails"))
        self.smtp = self.start([DEBIAN_PYTHON, os.path.join(HERE, "smtp_server.py"), self.path("mails"), self.path("cert.pem"),
                                self.path("key.pem"), str(self.ports["smtp"]), str(self.ports["smtps"])], stdout=subprocess.PIPE)
        self.assertEqual(self.smtp.stdout.readline(), b"ready\n")
        self.alertmanager = self.start_alertmanager()
        self.other = self.start_alertmanager("other")

    def start_alertmanager(self, which="am"):
        config = write(self.path("alertmanager.yaml"), "route: {receiver: none, group_wait: 0s, group_interval: 1s}\nreceivers: [{name: none}]\n")
        with open(self.path("alertmanager.log"), "a") as log:
            process = self.start(
                ["prometheus-alertmanager", "--config.file", config, "--storage.path", self.path(which + "-data"), "--web.listen-address",
                 "127.0.0.1:%d" % self.ports[which], "--cluster.listen-address", ""], stderr=log)
        wait_for("Alertmanager", lambda: self.alerts(which) is not None)
        return process

    def alerts(self, which="am"):
        """Returns the firing alerts in the Alertmanager, keyed by alertname."""
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/api/v2/alerts?active=true" % self.ports[which], timeout=5) as answer:
                return {alert["labels"]["alertname"]: alert for alert in json.load(answer)}
        except OSError:
            return None

    def mails(self, way):
        found = []
        for name in sorted(os.listdir(self.path("mails"))):
            if name.startswith(way) and name.endswith(".json"):
                with open(os.path.join(self.path("mails"), name)) as file:
                    kept = json.load(file)
                kept["mail"] = email.message_from_bytes(kept["content"].encode("utf-8", "surrogateescape"), policy=email.policy.default)
                found.append(kept)
        return found

    def said(self, path):
        return self.gateway.said(path)

    def test_each_receiver_gets_job_rule_rank_and_step(self):
        write(self.path("rules.yaml"), RULES)
        write(self.path("pitwall.yaml"), CONFIG % self.ports)
        self.pitwall = self.run_pitwall(1)
        self.addCleanup(lambda: self.pitwall.kill())
        # The first step adds a silence for all alerts with severity info.
        silenced = json.loads(self.silence("add", 'severity="info"', "--duration", "1h", "--author", "ada", "--comment", "a test", "--json"))
        self.assertIn("--comment", self.silence("add", "severity=info", code=2))
        self.assertIn("expected", self.silence("add", "severity:info", "--comment", "x", "--author", "a", code=2))
        without = subprocess.run([BINARY, "silence", "add", "a=b", "--author", "a", "--comment", "x", "--url", self.pitwall.http],
                                 capture_output=True, text=True)
        self.assertEqual(without.returncode, 1, without.stderr)
        training = train(self.path("c.sock"), 100_000, nan_from=1_000_000)  # runs until the test ends it
        self.addCleanup(self.end, training)

        # Each email transport delivers a message and uses its own AUTH mechanism.
        wait_for("a mail from each transport", lambda: self.mails("starttls") and self.mails("tls"))
        for way, mechanism in (("starttls", "PLAIN"), ("tls", "LOGIN")):
            kept = self.mails(way)[0]
            self.assertEqual((kept["mechanism"], kept["encrypted"], kept["from"]), (mechanism, True, "pitwall@example.org"))
            mail = kept["mail"]
            self.assertEqual(mail.defects, [])
            self.assertRegex(mail["Subject"], r"^\[critical\] e2e: LossExploded rank 0 step \d+$")
            self.assertEqual([part.get_content_type() for part in mail.iter_parts()], ["text/plain", "text/html"])
            text, page = (part.get_content().replace("\r\n", "\n") for part in mail.iter_parts())
            for line in (r"(?m)^FOUND: .*the loss of <rank> 0 is \"high\" & stays so", r"(?m)^Job: e2e", r"(?m)^Rule: .*steps/LossExploded$", r"(?m)^Rank: 0$",
                         r"(?m)^Step: \d+$", r"(?m)^Since: \d{4}-\S+Z$", r"(?m)^https://pitwall\.example/jobs/\S+$"):
                self.assertRegex(text, line)
            self.assertIn("&lt;rank&gt; 0 is &quot;high&quot; &amp; stays so", page)
        self.assertEqual(self.mails("starttls")[0]["to"], ["ops@example.org", "second@example.org"])
        self.assertRegex(self.pitwall.log(), r"email mail: localhost rejected these recipients: gone@example\.org \(550 no such user here\)")
        self.assertIn("Wächter", self.mails("starttls")[0]["mail"]["From"])

        # The gateway receives its credentials and a short text. Slack receives blocks.
        headers, body = wait_for("the gateway", lambda: self.said("/sms"))[0]
        message = json.loads(body)
        self.assertEqual((headers["Authorization"], message["key"]), ("Bearer of-the-gateway", 'k"1'))
        self.assertRegex(message["text"], r"^FOUND critical e2e: LossExploded rank 0 step \d+")
        self.assertLessEqual(len(message["text"]), 160)
        self.assertIn("https://pitwall.example/jobs/", message["text"])
        slack = json.loads(wait_for("Slack", lambda: self.said("/services/T/B/slack-secret"))[0][1])
        blocks = json.dumps(slack["attachments"][0]["blocks"])
        for part in ("*Job*\\ne2e", "steps/LossExploded", "*Rank*\\n0", "*Step*", "the loss of &lt;rank&gt; 0"):
            self.assertIn(part, blocks)

        # Alertmanager receives the labels. An alert that clears is resolved, and all other alerts keep firing.
        alert = wait_for("the alert", lambda: self.alerts().get("LossExploded"))
        labels = alert["labels"]
        self.assertEqual((labels["severity"], labels["rank"], labels["cluster"], labels["job_name"]),
                         ("critical", "0", "lab", "e2e"))
        self.assertTrue(labels["pitwall_job"] and labels["rule"].endswith("steps/LossExploded") and labels["incident"])
        self.assertRegex(alert["generatorURL"], r"^https://pitwall\.example/jobs/")
        self.assertTrue(alert["annotations"]["step"].isdigit())
        wait_for("LossHigh to fire", lambda: "LossHigh" in self.alerts())
        wait_for("LossHigh to be resolved", lambda: "LossHigh" not in self.alerts())
        self.assertIn("LossExploded", self.alerts())

        # Both running Alertmanagers have the alert. A restarted Alertmanager has lost its alerts. The other one continues, and resent alerts restore
        # the state.
        wait_for("the alert at the other Alertmanager", lambda: "LossExploded" in self.alerts("other"))
        self.alertmanager.kill()
        self.alertmanager.wait()
        wait_for("another alert at the other Alertmanager", lambda: "LossHigh" in self.alerts("other"))
        self.assertIn("LossExploded", self.alerts("other"))
        self.alertmanager = self.start_alertmanager()
        wait_for("the alert after Alertmanager's restart", lambda: "LossExploded" in self.alerts())
        self.pitwall.kill()
        self.assertIn("LossExploded", self.alerts())
        self.pitwall = self.run_pitwall(2)
        self.assertEqual(json.loads(self.silence("list", "--json"))["id"], silenced["id"])
        self.alertmanager.kill()
        self.alertmanager.wait()
        self.alertmanager = self.start_alertmanager()
        wait_for("the alert after both restarts", lambda: "LossExploded" in self.alerts())

        # Silenced issues are marked in lists but not reported. When the silence ends, those that are still open are reported.
        self.assertEqual(self.said("/info"), [])
        mark = r"Quiet.*\[silenced by ada until \S+Z: a test\]"
        def marked(*source):  # also valid after the restarts
            done = subprocess.run([BINARY, "issues", "list", *source], capture_output=True, text=True, timeout=PATIENCE)
            if re.search(mark, done.stdout):
                return done.stdout
            print("issues list %s: exit code %d, %d lines; %s" % (source[0], done.returncode, len(done.stdout.splitlines()), done.stderr))
            return None
        for source in (("--target", self.pitwall.grpc), ("--data-dir", self.path("data"))):
            listed = wait_for("the list with the silenced mark", lambda at=source: marked(*at))
            self.assertNotRegex(listed, r"LossExploded.*silenced")
        def silences():  # after the restart, the history may contain the node before the job
            jobs = json.loads(fetch(self.pitwall.http + "/api/pitwall/v1/jobs?name=e2e")[1])["jobs"]
            if not jobs:
                return None
            issues = json.loads(fetch(self.pitwall.http + "/api/pitwall/v1/issues?state=open&job=" + urllib.parse.quote(jobs[0]["id"]))[1])["issues"]
            silenced = {issue["alert"]: issue["silenced"] for issue in issues}
            return silenced if {"Quiet", "LossExploded"} <= set(silenced) else None
        shown = wait_for("both issues in the history", silences)
        self.assertEqual((shown["Quiet"]["by"], shown["LossExploded"]), ("ada", None))
        self.silence("expire", silenced["id"])
        self.assertIn("already ended", self.silence("expire", silenced["id"], code=1))
        self.assertEqual(self.silence("list"), "")
        body = wait_for("the silenced issue", lambda: self.said("/info"))[0][1]
        self.assertEqual(urllib.parse.parse_qs(body)["state"], ["open"])
        self.assertTrue(urllib.parse.parse_qs(body)["rule"][0].endswith("steps/Quiet"))

        # The end of the job does not resolve the issue. Alertmanager keeps it firing, and the mail reports how the job ended.
        training.terminate()
        training.wait(PATIENCE)
        ended = wait_for("the end by mail", lambda: next((kept["mail"] for kept in self.mails("starttls") if " ENDED " in kept["mail"]["Subject"]), None))
        self.assertRegex(ended["Subject"], r"^\[critical\] ENDED e2e: LossExploded rank 0")
        self.assertEqual(ended["References"], self.mails("starttls")[0]["mail"]["Message-ID"])
        wait_for("the end at Alertmanager", lambda: self.alerts()["LossExploded"]["annotations"].get("ended"))
        self.assertIn("LossExploded", self.alerts())

        # A receiver that fails permanently does not delay the other receivers, and the logs do not contain secrets.
        self.assertGreater(self.pitwall.metric("pitwall_receiver_failed_attempts_total"), 0)
        for log in ("log-1", "log-2"):
            with open(self.path(log)) as lines:
                text = lines.read()
            # A rejected password and a rejected recipient are each logged once, with the server and the cause.
            self.assertEqual(len(re.findall(r"email wrong: SMTP 535 .*localhost:%d rejected user \"pitwall\"" % self.ports["smtp"], text)), 1, text)
            self.assertNotIn("email wrong keeps failing", text)
            for secret in ("s3cret", "slack-secret", "of-the-gateway", "not the password", "act-token"):
                self.assertNotIn(secret, text)
        printed = subprocess.run([BINARY, "standalone", "--config", self.path("pitwall.yaml"), "--print-config"], capture_output=True, text=True)
        self.assertNotIn("slack-secret", printed.stdout)
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())


class PagerDuty(ReceiverTest):
    def setUp(self):
        super().setUp()
        self.pagerduty = Hooks({ENQUEUE: 202})
        self.addCleanup(self.pagerduty.close)
        write(self.path("routing_key"), ROUTING_KEY)
        write(self.path("rules.yaml"), PAGERDUTY_RULES % 100)
        write(self.path("pitwall.yaml"), PAGERDUTY_CONFIG % {"dir": self.work, "url": self.pagerduty.url(ENQUEUE)})

    def events(self):
        return [json.loads(body) for _, body in self.pagerduty.said(ENQUEUE)]

    def last_event(self, action, after):
        """Returns the newest event if it has that action and follows the first `after` events."""
        events = self.events()
        return events[-1] if len(events) > after and events[-1]["event_action"] == action else None

    def actions_with_receiver(self, job):
        actions = fetch(self.pitwall.http + "/api/pitwall/v1/actions?job=" + urllib.parse.quote(job))[1]
        return actions if '"pager"' in actions else None

    def test_incident_triggers_one_alert_and_its_end_resolves_it(self):
        self.pitwall = self.run_pitwall(1)
        self.addCleanup(lambda: self.pitwall.kill())
        training = train(self.path("c.sock"), 100_000, nan_from=1_000_000)  # runs until the test ends it
        self.addCleanup(self.end, training)

        found = wait_for("the alert", self.events)[0]
        self.assertEqual((found["event_action"], found["routing_key"]), ("trigger", ROUTING_KEY))
        self.assertRegex(found["dedup_key"], r"^pitwall-\w+$")
        self.assertRegex(found["client_url"], r"^https://pitwall\.example/jobs/")
        payload = found["payload"]
        details = payload["custom_details"]
        self.assertEqual((payload["severity"], payload["group"], payload["class"], payload["source"]),
                         ("critical", "e2e", "LossExploded", details["job_id"]))
        self.assertRegex(payload["summary"], r"^\[critical\] e2e: LossExploded rank 0 .*step \d+$")
        self.assertIn('the loss of <rank> 0 is "high" & stays so', details["description"])
        self.assertEqual(details["rank"], "0")

        # A lower limit adds an issue to the silenced incident. The end of the silence sends the update immediately.
        # The silence starts with the incident, because the data that is evaluated next may be older than the silence.
        silenced = json.loads(self.silence("add", 'job="e2e"', "--start", payload["timestamp"], "--duration", "1h", "--author", "ada", "--comment", "a test",
                                           "--json"))
        write(self.path("rules.yaml"), PAGERDUTY_RULES % 6)
        wait_for("the withheld incident", lambda: self.pitwall.metric("pitwall_receiver_withheld_issues") > 0)
        sent = len(self.events())
        self.silence("expire", silenced["id"])
        updated = wait_for("the update", lambda: self.last_event("trigger", after=sent))
        self.assertRegex(updated["payload"]["summary"], r"^\[critical\] UPDATE e2e: LossExploded")
        self.assertEqual(updated["payload"]["custom_details"]["issues"], "2, 2 open")

        # The restarted notifier resolves the same alert.
        self.pitwall.kill()
        self.pitwall = self.run_pitwall(2)
        wait_for("the client to reconnect", lambda: self.pitwall.said("hello from rank 0"))
        sent = len(self.events())
        training.terminate()
        training.wait(PATIENCE)
        ended = wait_for("the resolution", lambda: self.last_event("resolve", after=sent))
        self.assertRegex(ended["payload"]["custom_details"]["ended"], r"^ended: job_ended")
        events = self.events()
        self.assertEqual({event["dedup_key"] for event in events}, {found["dedup_key"]})
        self.assertEqual([event["event_action"] for event in events[:-1]], ["trigger"] * (len(events) - 1))

        self.assert_routing_key_is_secret(details["job_id"])
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())

    def assert_routing_key_is_secret(self, job):
        shown = [self.pitwall.log(), fetch(self.pitwall.http + "/metrics")[1]]
        # The page shows the notifications from this list.
        shown.append(wait_for("the notifications of the job", lambda: self.actions_with_receiver(job)))
        with open(self.path("log-1")) as log:
            shown.append(log.read())
        printed = subprocess.run([BINARY, "standalone", "--config", self.path("pitwall.yaml"), "--print-config"], capture_output=True, text=True)
        self.assertIn("routing_key", printed.stdout, printed.stderr)
        for text in shown + [printed.stdout]:
            self.assertNotIn(ROUTING_KEY, text)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if subprocess.run([DEBIAN_PYTHON, "-c", "import aiosmtpd"], capture_output=True).returncode or not shutil.which("prometheus-alertmanager"):
        print("0 passed, 0 failed: prometheus-alertmanager or python3-aiosmtpd is missing; run deploy/install-deps.sh tests", file=sys.stderr)
        sys.exit(77)
    unittest.main()
