"""Helpers shared by the recorder and the tests for stored recordings: services with their data, and a webhook receiver."""
import http.server
import json
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import harness  # noqa: E402

RULES = os.path.join(HERE, "rules.yaml")
DATA = os.path.join(HERE, "data")

CONFIG = """
data_dir: '{data}'
log: {{retention: 1040w}}
rules: {{files: ['{rules}']}}
collector: {{node: kept, gpus: false}}
processor: {{partitions: 2, snapshot_interval: 1s, commit_interval: 200ms}}
notifier:
  webhooks:
  - {{name: kept, url: 'http://127.0.0.1:{port}/hook', notify_symptoms: true}}
"""


class Receiver:
    """Webhook receiver. `ids` contains the event IDs in order."""

    def __init__(self):
        self.ids = []
        self.events = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                receiver.events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                receiver.ids.append(self.headers["webhook-id"])
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reported(self):
        """Returns (job, found | updated | resolved) for each event of the jobs' issues."""
        return {("kept-" + event["data"]["job"]["name"], event["type"].split(".")[-1]) for event in list(self.events)
                if event["type"].startswith("io.pitwall.issue.")}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def start(binary, folder, receiver, *flags, log="service.log"):
    """Starts a standalone service on folder/data, with an executor and a webhook."""
    config = harness.write(os.path.join(folder, "config.yaml"), CONFIG.format(
        data=os.path.join(folder, "data"), rules=RULES, port=receiver.port))
    return harness.Pitwall(binary, os.path.join(folder, log), "--config", config, "--executor", *flags)


def load_json(path):
    with open(path) as text:
        return json.load(text)
