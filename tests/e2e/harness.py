"""Shared helpers for tests of the binary: waiting, HTTP, a pitwall process with its addresses and events, and a miniature training script."""
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENT = os.path.join(REPO, "clients", "python", "src")
PATIENCE = 90

# The loss alternates between 1 and 9 and then becomes NaN, at 30 steps per second. After SIGTERM, the script exits with code 143, like a real
# training script.
TRAINING = """
import math, signal, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
pitwall.init(job="e2e")
step = 0
for _ in pitwall.steps(range(int(sys.argv[2]))):
    with pitwall.phase("forward"):
        time.sleep(0.03)
    loss = math.nan if step >= int(sys.argv[3]) else (9.0 if (step // 10) % 2 else 1.0)
    pitwall.log(loss=loss, step=step)
    step += 1
pitwall.finish()
"""


def wait_for(what, condition, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("timed out after %d s waiting for %s" % (patience, what))


def fetch(url, **options):
    """Fetches a URL and returns (content type, text)."""
    with urllib.request.urlopen(url, timeout=10, **options) as response:
        return response.headers["Content-Type"], response.read().decode()


def write(path, text):
    with open(path, "w") as out:
        out.write(text)
    return path


def step_rules(rules, group="steps"):
    """Returns a rule file with one group, which is evaluated at every step."""
    return "groups:\n- name: %s\n  clock: step\n  interval: 1\n  rules:\n%s" % (group, rules)


def train(socket, steps, nan_from):
    return subprocess.Popen([sys.executable, "-c", TRAINING, CLIENT, str(steps), str(nan_from)],
                            env=dict(os.environ, PITWALL_SOCKET=socket))


class Hooks(http.server.ThreadingHTTPServer):
    """Webhook receiver on the loopback interface that records (path, headers, body) of each POST. `answers` maps a path to its status; the default is
    200."""
    daemon_threads = True

    def __init__(self, answers=None):
        self.received, self.answers = [], dict(answers or {})
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                hooks.received.append((self.path, dict(self.headers), body))
                self.send_response(hooks.answers.get(self.path, 200))
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path="/"):
        return "http://127.0.0.1:%d%s" % (self.server_port, path)

    def said(self, path="/"):
        """Returns (headers, body) for each POST to that path."""
        return [(headers, body) for at, headers, body in list(self.received) if at == path]

    def close(self):
        self.shutdown()
        self.server_close()


class Pitwall:
    """Running Pitwall service, ready after construction. It listens on free loopback ports unless the flags specify others."""

    def __init__(self, binary, log, *flags, service="standalone", variables=None, user=None):
        self.log_path = log
        flags = list(flags)
        for listen in ("--http-listen", "--grpc-listen"):
            if listen not in flags:
                flags += [listen, "127.0.0.1:0"]
        with open(log, "w") as stderr:
            self.process = subprocess.Popen([binary, service] + flags, stderr=stderr, user=user, group=user,
                                            extra_groups=[] if user else None, env=dict(os.environ, **(variables or {})))
        wait_for("%s to be ready" % service,
                 lambda: self.said(service + r": ready\n") or self.process.poll() is not None)
        assert self.process.poll() is None, self.log()
        self.http = self.said(r"(https?://[\d.:]+)/metrics").group(1)
        issues = self.said(r"IssueService on [^,]*, port (\d+)")  # only services with gRPC log this line
        self.grpc = issues and "127.0.0.1:" + issues.group(1)

    def log(self):
        with open(self.log_path) as lines:
            return lines.read()

    def said(self, pattern):
        return re.search(pattern, self.log())

    def metric(self, name):
        """Returns the sum of the metric over all label sets. If the service has exited, the error contains its exit status and log."""
        try:
            text = fetch(self.http + "/metrics")[1]
        except OSError as error:
            try:
                status = self.process.wait(2)
            except subprocess.TimeoutExpired:
                raise error
            raise AssertionError("the service ended with status %d:\n%s" % (status, self.log()[-8000:])) from error
        return sum(map(float, re.findall(r"^%s(?:\{.*\})? (\S+)$" % name, text, re.M)))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Watch:
    """Receives all events of a service, including earlier ones, with `pitwall issues watch`."""

    def __init__(self, binary, target):
        self.received = []  # (arrival time, event)
        self.process = subprocess.Popen([binary, "issues", "watch", "--json", "--from-start", "--target", target],
                                        stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.received.append((time.monotonic(), json.loads(line)))

    def events(self, kind, **data):
        """Returns (arrival time, data) of each event of this type with these data fields."""
        return [(when, event["data"]) for when, event in list(self.received)
                if event["type"] == kind and data.items() <= event["data"].items()]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class ServiceTest(unittest.TestCase):
    """Test with at most one service and one training script at a time. Both are killed when the test ends."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.data = os.path.join(self.folder.name, "data")
        self.service = self.training = None

    def tearDown(self):
        for process in (self.service and self.service.process, self.training):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        self.folder.cleanup()


class WatchedTest(unittest.TestCase):
    """Tests that share a standalone process and receive its events."""

    @classmethod
    def start(cls, binary, *flags):
        """Starts the process, with its data in the folder `data` of a new folder. Call it from setUpClass."""
        cls.work = tempfile.mkdtemp(prefix="pitwall-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.pitwall = Pitwall(binary, os.path.join(cls.work, "log"), "--data-dir", os.path.join(cls.work, "data"), *flags,
                              variables=cls.variables())
        cls.addClassCleanup(cls.pitwall.stop)
        cls.watch = Watch(binary, cls.pitwall.grpc)
        cls.addClassCleanup(cls.watch.stop)

    @classmethod
    def variables(cls):
        """Returns additional environment variables for the process. The folder already exists."""
        return {}
