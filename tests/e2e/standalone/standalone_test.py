#!/usr/bin/env python3
"""End-to-end test of `pitwall standalone` with real sockets, the real promtool, a real Prometheus, a gRPC watch with resume, and a replay.

standalone_test.py BINARY
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import PATIENCE, Pitwall, fetch, step_rules, train, wait_for, write  # noqa: E402

BINARY = None

RULES = step_rules("""
  - alert: LossNotFinite
    expr: train_loss != train_loss
    needs: [train_loss]
    labels: {severity: critical}
  - alert: LossHigh
    expr: train_loss > 5
    needs: [train_loss]
    labels: {severity: warning}
""", group="g")


class Standalone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="pitwall-e2e-")
        cls.rules = write(os.path.join(cls.work, "rules.yaml"), RULES)
        cls.socket = os.path.join(cls.work, "c.sock")
        cls.data = os.path.join(cls.work, "data")
        cls.log = os.path.join(cls.work, "pitwall.log")
        cls.start()

    @classmethod
    def start(cls):
        cls.pitwall = Pitwall(BINARY, cls.log, "--data-dir", cls.data, "--rules", cls.rules, "--socket", cls.socket,
                              "--node", "e2e-node", "--interval", "200ms")
        cls.http, cls.grpc = cls.pitwall.http, cls.pitwall.grpc

    @classmethod
    def tearDownClass(cls):
        cls.pitwall.kill()
        shutil.rmtree(cls.work)

    def watch(self, *flags):
        """Starts a watch. Returns its process and a list of ("event", ID) and ("token", text) in arrival order."""
        process = subprocess.Popen([BINARY, "issues", "watch", "--target", self.grpc, "--json", "--print-token"] + list(flags),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seen = []
        lock = threading.Lock()

        def pump(stream, parse):
            for line in stream:
                with lock:
                    seen.append(parse(line))

        threads = [threading.Thread(target=pump, args=(process.stdout, lambda l: ("event", json.loads(l)["id"]))),
                   threading.Thread(target=pump, args=(process.stderr, lambda l: ("token", l.split()[-1])))]
        for thread in threads:
            thread.start()
        process.pumps = threads
        return process, seen

    def cut(self, process):
        process.kill()
        process.wait()
        for thread in process.pumps:
            thread.join()
        process.stdout.close()
        process.stderr.close()

    def test_1_promtool_and_prometheus_accept_metrics(self):
        content_type, text = fetch(self.http + "/metrics")
        self.assertIn("version=0.0.4", content_type)
        self.assertEqual(subprocess.run(["promtool", "check", "metrics"], input=text, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT).stdout, "")
        self.assertEqual(fetch(self.http + "/readyz")[1], "ok\n")
        self.assertEqual(fetch(self.http + "/healthz")[1], "ok\n")
        folder = os.path.join(self.work, "prometheus")
        os.makedirs(folder)
        with open(os.path.join(folder, "prometheus.yml"), "w") as out:
            out.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: pitwall\n  static_configs:\n"
                      "  - targets: ['%s']\n" % self.http[len("http://"):])
        log_path = os.path.join(folder, "log")
        # Prometheus does not report a port that it selects itself, so the test reserves a port first.
        import socket
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % probe.getsockname()[1]
        prometheus = subprocess.Popen(["prometheus", "--config.file", os.path.join(folder, "prometheus.yml"),
                                       "--storage.tsdb.path", os.path.join(folder, "data"), "--web.listen-address", address],
                                      stdout=open(log_path, "w"), stderr=subprocess.STDOUT)
        try:
            def query(expression):
                try:
                    answer = json.loads(fetch("http://%s/api/v1/query?query=%s" % (address, expression))[1])
                except OSError:
                    return None
                return [float(r["value"][1]) for r in answer["data"]["result"]]
            wait_for("Prometheus to scrape", lambda: query("up") == [1.0])
            self.assertGreater(sum(query("pitwall_processor_clock_ticks_total")), 0)
        finally:
            prometheus.terminate()
            prometheus.wait(PATIENCE)

    def test_2_resumed_watch_misses_no_event(self):
        whole, everything = self.watch("--from-start")
        first, part = self.watch("--from-start")
        training = train(self.socket, 150, nan_from=120)
        wait_for("three events", lambda: sum(kind == "event" for kind, _ in part) >= 3)
        # The watch resumes from the token that follows the last complete batch. Later events are resent.
        wait_for("a token", lambda: any(kind == "token" for kind, _ in part))
        self.cut(first)
        last_token = max(i for i, (kind, _) in enumerate(part) if kind == "token")
        token = part[last_token][1]
        self.assertEqual(training.wait(PATIENCE), 0)
        second, rest = self.watch("--resume", token)
        wait_for("the NaN", lambda: any('"alert":"LossNotFinite"' in line for line in self.listed()))
        expected = wait_for("the remaining events", lambda: [i for k, i in list(everything) if k == "event"]
                            if len([1 for k, _ in list(everything) if k == "event"]) >= 13 else None)
        # stdout and stderr are separate pipes, so only the IDs show which events preceded the token. Together, the two watches have received all
        # events. The second watch does not repeat any event from before its token, and it preserves the order.
        wait_for("the second watch to catch up",
                 lambda: {i for k, i in list(part) + list(rest) if k == "event"} >= set(expected))
        resumed = [i for k, i in list(rest) if k == "event"]
        positions = [expected.index(i) for i in resumed if i in expected]
        self.assertEqual(positions, list(range(positions[0], positions[0] + len(positions))))
        self.cut(second)
        self.cut(whole)

    def listed(self):
        return subprocess.run([BINARY, "issues", "list", "--target", self.grpc, "--json", "--all"], stdout=subprocess.PIPE,
                              text=True, check=True).stdout.splitlines()

    def test_3_replay_equals_live_events_after_clean_stop(self):
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())
        verified = subprocess.run([BINARY, "backtest", "--verify", "--input", self.data], stdout=subprocess.PIPE, text=True)
        self.assertEqual(verified.returncode, 0, verified.stdout)
        self.assertRegex(verified.stdout, r"^[1-9]\d* events: live and replayed are bit-identical")
        backtest = subprocess.run([BINARY, "backtest", "--input", self.data, "--no-status"], stdout=subprocess.PIPE, text=True)
        alerts = {json.loads(line)["data"]["alert"] for line in backtest.stdout.splitlines()}
        self.assertEqual(alerts, {"LossHigh", "LossNotFinite"})

    def test_4_restarted_service_restores_its_state(self):
        self.start()
        self.assertIn("LossNotFinite", "".join(self.listed()))
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())

    def test_5_invalid_configuration_is_reported_with_position(self):
        path = os.path.join(self.work, "bad.yaml")
        with open(path, "w") as out:
            out.write("log:\n  kind: rabbit\n")
        result = subprocess.run([BINARY, "standalone", "--config", path], stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn(path + ":2:9", result.stderr)
        with open(path, "w") as out:
            out.write("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: rat(x[5m])\n")
        result = subprocess.run([BINARY, "rules", "check", path], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("bad.yaml:5:11", result.stderr)
        self.assertIn("^", result.stderr)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2, warnings="ignore")
