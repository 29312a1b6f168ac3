#!/usr/bin/env python3
"""Tests the chart's alerts and dashboards with a real Prometheus that scrapes running services.

monitoring_test.py BINARY [--kafka]

--kafka: each service in its own process, with a real broker (deploy/kafka/broker.sh). The default is standalone.
"""
import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import REPO, Pitwall, fetch, train, wait_for, write  # noqa: E402

FILES = os.path.join(REPO, "helm", "pitwall", "files")
BROKER = os.path.join(REPO, "deploy", "kafka", "broker.sh")
BINARY = None
KAFKA = False
SPLIT = ("processor", "collector", "notifier", "executor", "insights")



class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="pitwall-monitoring-")
        cls.services, cls.prometheus, cls.training = [], None, None
        cls.receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=cls.receiver.serve_forever, daemon=True).start()
        try:
            cls.start()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def start(cls):
        socket = os.path.join(cls.work, "collector.sock")
        config = write(os.path.join(cls.work, "pitwall.yaml"), 'executor: {policies: [{rule: "*/LossNotFinite", mode: dry_run}]}\n')
        webhook = ["--webhook", "http://127.0.0.1:%d/" % cls.receiver.server_port]
        if KAFKA:
            line = subprocess.run([BROKER, "start", os.path.join(cls.work, "kafka")], check=True, stdout=subprocess.PIPE, text=True).stdout
            flags = {name: ["--kafka", line.strip().split("=", 1)[1]] for name in SPLIT}
            flags["collector"] += ["--socket", socket]
            flags["notifier"] += webhook
        else:
            flags = {"standalone": ["--executor", "--socket", socket] + webhook}
        for name, own in flags.items():
            cls.services.append(Pitwall(BINARY, os.path.join(cls.work, name + ".log"), "--config", config, "--data-dir",
                                        os.path.join(cls.work, name), *own, service=name))
        cls.names = list(flags)
        cls.training = train(socket, 100000, 100)
        shutil.copy(os.path.join(FILES, "alerts.yaml"), os.path.join(cls.work, "alerts.yaml"))
        path = write(os.path.join(cls.work, "prometheus.yml"), json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["alerts.yaml"],
            "scrape_configs": [{"job_name": name, "static_configs": [{"targets": [service.http.split("//")[1]]}]}
                               for name, service in zip(cls.names, cls.services)]}))
        log = os.path.join(cls.work, "prometheus.log")
        with open(log, "w") as out:
            cls.prometheus = subprocess.Popen(
                ["prometheus", "--config.file=" + path, "--storage.tsdb.path=" + os.path.join(cls.work, "tsdb"), "--web.listen-address=127.0.0.1:0"],
                stderr=out, stdout=out)

        def address():
            assert cls.prometheus.poll() is None, open(log).read()
            with open(log) as lines:
                return re.search(r'(?:Listening on"? address=|address=)(127\.0\.0\.1:[1-9]\d*)', lines.read())

        cls.url = "http://" + wait_for("Prometheus to listen", address).group(1)
        wait_for("two scrapes of each service", lambda: len([r for r in cls.query("count_over_time(up[1m]) >= 8")]) == len(cls.names))

    @classmethod
    def tearDownClass(cls):
        for process in (cls.training, cls.prometheus):
            if process is not None:
                process.terminate()
                process.wait()
        for service in cls.services:
            service.stop()
            service.kill()
        if KAFKA:
            subprocess.run([BROKER, "stop", os.path.join(cls.work, "kafka")], check=False)
        cls.receiver.shutdown()
        cls.receiver.server_close()
        shutil.rmtree(cls.work, ignore_errors=True)

    @classmethod
    def query(cls, expression):
        try:
            text = fetch(cls.url + "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))[1]
        except OSError:
            return []
        return json.loads(text)["data"]["result"]

    def test_prometheus_scrapes_every_service(self):
        up = {row["metric"]["job"]: row["value"][1] for row in self.query("up")}
        self.assertEqual(up, {name: "1" for name in self.names})
        self.assertEqual({row["metric"]["service"] for row in self.query("pitwall_build_info")}, set(self.names))

    def test_prometheus_loads_every_alert_without_error(self):
        def evaluated():
            rules = [rule for group in json.loads(fetch(self.url + "/api/v1/rules")[1])["data"]["groups"] for rule in group["rules"]]
            return rules if all(rule["health"] != "unknown" for rule in rules) else None

        rules = wait_for("an evaluation", evaluated)
        with open(os.path.join(FILES, "alerts.yaml"), encoding="utf-8") as file:
            self.assertEqual({rule["name"] for rule in rules}, set(re.findall(r"- alert: (\w+)", file.read())))
        self.assertEqual([(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"], [])
        self.assertEqual([rule["name"] for rule in rules if rule["state"] == "firing"], [])

    def test_every_dashboard_query_has_data(self):
        asked = 0
        for path in glob.glob(os.path.join(FILES, "dashboards", "*.json")):
            with open(path, encoding="utf-8") as file:
                panels = json.load(file)["panels"]
            for panel in panels:
                for target in panel.get("targets", ()):
                    expression = target["expr"].replace("$__rate_interval", "10s")
                    # "> 0" hides healthy series, and the query must have data without it.
                    shown = re.sub(r" > 0$", "", expression)
                    with self.subTest(panel=panel["title"], expression=shown):
                        self.assertNotIn("$", shown)
                        self.assertTrue(wait_for("data of %r" % shown, lambda: self.query(shown), patience=30))
                    asked += 1
        self.assertGreater(asked, 20)


def main():
    global BINARY, KAFKA
    BINARY = os.path.abspath(sys.argv[1])
    KAFKA = "--kafka" in sys.argv
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
