#!/usr/bin/env python3
"""Runs Pitwall next to a real training job and prints its reports. Started by deploy/demo.sh."""
import argparse
import http.server
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
BROKER = os.path.join(HERE, "..", "kafka", "broker.sh")
# Maps each fault to the expected issues.
CAUSES = {
    "slow_loader": {"DataStallShare"},
    "cpu_hog": {"CPUSaturated"},
    "hang": {"JobStalled", "StepOutlier"},
    "explode": {"LossNotFinite"},
}
SCRIPT = "10:slow_loader:15,40:cpu_hog:25,85:hang:15,115:explode:60"


def say(text):
    print("%s  %s" % (time.strftime("%H:%M:%S"), text), flush=True)


class WebhookReceiver:
    """A webhook receiver that counts deliveries."""

    def __init__(self):
        received = self.received = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                received[self.headers["webhook-id"]] = (time.time(), body["type"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/issues" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Service:
    """A pitwall process. It logs to a file, which also provides the server addresses."""

    def __init__(self, options, work, name, flags):
        self.name = name
        self.log = os.path.join(work, name + ".log")
        self.process = subprocess.Popen([options.binary, name, "--config", os.path.join(HERE, "pitwall.yaml")] + flags,
                                        stderr=open(self.log, "w"), stdout=subprocess.DEVNULL, start_new_session=True)

    def wait_for(self, pattern, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = re.search(pattern, open(self.log).read())
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        sys.exit("demo: pitwall %s did not start; its log:\n%s" % (self.name, open(self.log).read()))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Demo:
    def __init__(self, options):
        self.options = options
        self.work = tempfile.mkdtemp(prefix="pitwall-demo-")
        self.services = []
        self.broker = None
        self.recorded = ["--input", self.data_dir("standalone")]  # input of the backtest
        self.code = None        # of the training
        self.finished = False   # later events do not matter for the demo
        self.watch = None
        self.training = None
        self.lines = queue.Queue()
        self.causes = {}        # trouble -> wall time of its start
        self.found = {}         # issue -> alert
        self.ended = set()
        self.first_issue = None
        self.trained_since = None
        self.page = None        # address of the history
        self.explorable = False
        self.hook = WebhookReceiver()

    def start(self):
        overrides = os.path.join(HERE, "overrides.yaml")
        socket = os.path.join(self.work, "collector.sock")
        if self.options.kafka:
            say("starting a Kafka broker")
            self.broker = os.path.join(self.work, "kafka")
            line = subprocess.run([BROKER, "start", self.broker], check=True, stdout=subprocess.PIPE, text=True).stdout
            brokers = line.strip().split("=", 1)[1]
            self.recorded = ["--brokers", brokers]
            log = ["--kafka", brokers]
            flags = {"processor": ["--overrides", overrides], "notifier": ["--webhook", self.hook.url],
                     "collector": ["--socket", socket], "executor": [], "insights": []}
        else:
            log = []
            flags = {"standalone": ["--overrides", overrides, "--webhook", self.hook.url, "--socket", socket]}
        for name, own in flags.items():
            # The embedded log is one directory, and separate processes must not share it.
            data = self.data_dir(name)
            service = Service(self.options, self.work, name,
                              log + own + ["--data-dir", data, "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"])
            self.services.append(service)
        for service in self.services:
            service.wait_for(r": ready\n")
            address = service.wait_for(r"http://(127\.0\.0\.1:\d+)/metrics").group(1)
            say("pitwall %s is ready, http://%s/metrics" % (service.name, address))
            if service.name in ("standalone", "insights"):
                self.page = "http://" + address
        notifier = next(s for s in self.services if s.name in ("standalone", "notifier"))
        grpc = "127.0.0.1:" + notifier.wait_for(r"IssueService on [^,]*, port (\d+)").group(1)
        self.watch = subprocess.Popen([self.options.binary, "issues", "watch", "--target", grpc, "--json", "--from-start"],
                                      stdout=subprocess.PIPE, text=True, start_new_session=True)
        threading.Thread(target=self.pump, args=("issue", self.watch.stdout), daemon=True).start()

        events = os.path.join(self.work, "train.jsonl")
        os.mkfifo(events)
        environment = dict(os.environ, PITWALL_SOCKET=socket)
        self.training = subprocess.Popen(
            [sys.executable, "-u", os.path.join(HERE, "train.py"), "--job", "digits", "--script", self.options.script,
             "--events", events, "--seconds", str(self.options.seconds)],
            env=environment, stdout=open(os.path.join(self.work, "train.log"), "w"), stderr=subprocess.STDOUT,
            start_new_session=True)
        self.trained_since = time.time()
        say("training started (pid %d): a network on scikit-learn's digits" % self.training.pid)
        threading.Thread(target=lambda: self.pump("train", open(events)), daemon=True).start()

    def data_dir(self, name):
        return os.path.join(self.work, "data-" + name)

    def pump(self, kind, stream):
        for line in stream:
            self.lines.put((kind, time.time(), json.loads(line)))

    def handle(self, kind, now, line):
        if kind == "train":
            if line["event"] == "begin" and "trouble" in line:
                self.causes[line["trouble"]] = line["time_unix_ns"] / 1e9
                say("      cause   %s begins" % line["trouble"])
            elif line["event"] == "end" and "trouble" in line:
                say("      cause   %s ends" % line["trouble"])
            return
        data = line["data"]
        if line["type"] == "io.pitwall.job.changed":
            say("JOB           %-16s %s" % (data["job_change"], data.get("end_detail", "")))
            return
        issue = (data["rule"], json.dumps(data["labels"], sort_keys=True), data["active_since"])
        if line["type"] == "io.pitwall.issue.found":
            self.first_issue = self.first_issue or now
            self.found[issue] = data["alert"]
            cause = next((c for c, alerts in CAUSES.items() if data["alert"] in alerts and c in self.causes), None)
            latency = " (%.1f s after %s began)" % (now - self.causes[cause], cause) if cause else ""
            say("ISSUE BEGINS  %-16s %s%s" % (data["alert"], data.get("summary", ""), latency))
        elif line["type"] == "io.pitwall.issue.resolved":
            self.ended.add(issue)
            say("ISSUE ENDS    %-16s %s" % (data["alert"], data.get("end_reason", "")))

    def drain(self, seconds, until=lambda: False):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not until():
            try:
                self.handle(*self.lines.get(timeout=0.2))
            except queue.Empty:
                pass

    def run(self):
        self.start()
        self.drain(self.options.seconds + 60, until=lambda: self.training.poll() is not None)
        code = self.code = self.training.poll()
        if code == 143:
            say("ACTION        the executor stopped the training job with SIGTERM:")
            for line in open(os.path.join(self.work, "train.log")):
                if "SIGTERM" in line:
                    print("              " + line.strip())
        elif code is None:
            say("the training job is still running; stopping it")
            self.training.terminate()
        else:
            say("the training job exited on its own with code %d" % code)
        # A job killed by a signal may be restarted, so Pitwall ends the job only if no rank has returned within a minute. Any open issues then end.
        say("waiting for the end of the job (a minute without a restart)")
        self.drain(self.options.wait, until=lambda: set(self.found) <= self.ended and self.found)
        self.finished = True
        self.tell_page()
        if self.options.keep:
            say("Pitwall keeps running; stop it with Ctrl-C. Data in %s" % self.work)
            self.drain(1e9)

    def page_fault(self):
        """Returns the reason why the server does not serve its page, or None."""
        try:
            with urllib.request.urlopen(self.page + "/", timeout=10) as answer:
                kind = answer.headers.get_content_type()
                return None if kind == "text/html" else "its type is " + kind
        except urllib.error.HTTPError as error:
            return "%d %s" % (error.code, error.read().decode(errors="replace").strip())
        except OSError as error:
            return str(error)

    def tell_page(self):
        """Prints the address of the page for the demo's job once the history contains the job."""
        deadline = time.time() + 30
        while True:
            try:
                with urllib.request.urlopen(self.page + "/api/pitwall/v1/jobs?name=digits", timeout=5) as answer:
                    jobs = json.load(answer)["jobs"]
                if jobs:
                    break
                fault = "it has no job of this name"
            except (OSError, ValueError, KeyError) as error:
                fault = str(error)
            if time.time() > deadline:
                say("the history at %s does not have the job: %s" % (self.page, fault))
                return
            time.sleep(0.5)
        fault = self.page_fault()
        if fault:
            say("the page at %s/ cannot be shown: %s" % (self.page, fault))
            return
        self.explorable = True
        say("explore the job at %s%s" % (self.page, jobs[0]["link"]))
        say("its report: %s jobs report %s --url %s -o report.html" % (self.options.binary, jobs[0]["id"], self.page))

    def stop(self):
        for process in (self.training, self.watch):
            if process is not None and process.poll() is None:
                process.terminate()
                process.wait()
        return {service.name: service.stop() for service in reversed(self.services)}

    def stop_broker(self):
        if self.broker:
            subprocess.run([BROKER, "stop", self.broker], stdout=subprocess.DEVNULL)

    def verify(self):
        """Checks that a replay of the recorded log produces the same events as the live run."""
        result = subprocess.run([self.options.binary, "backtest", "--format", "log", "--verify"] + self.recorded,
                                stdout=subprocess.PIPE, text=True)
        say("BACKTEST      " + result.stdout.strip())
        return result.returncode == 0

    def summary(self, codes):
        both = {self.found[i] for i in self.found if i in self.ended}
        print()
        say("%d issues of %d kinds began, %d ended; webhooks received: %d" %
            (len(self.found), len(set(self.found.values())), len(self.ended), len(self.hook.received)))
        faults = []
        # After the job is stopped because of LossNotFinite, that issue stays open until the job ends.
        troubles = {part.split(":")[1] for part in self.options.script.split(",")} - {"explode"}
        if len(both) < len(set().union(*(CAUSES[t] for t in troubles))):
            faults.append("only %s both began and ended" % (sorted(both) or "nothing"))
        if self.first_issue is None or self.first_issue - self.trained_since > 120:
            faults.append("the first issue took more than two minutes")
        if self.code != 143:
            faults.append("the training job was not stopped by the executor")
        if not self.hook.received:
            faults.append("no webhook arrived")
        if not self.explorable:
            faults.append("the job cannot be explored on the page")
        faults += ["pitwall %s ended with exit code %d" % item for item in codes.items() if item[1] != 0]
        if not self.verify():
            faults.append("the backtest of the live log gives other events")
        for fault in faults:
            say("FAILED: " + fault)
        if not faults:
            say("demo: all fine")
        return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(prog="demo.sh")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kafka", action="store_true")
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and not os.environ.get("CI")
    parser.add_argument("--keep", action=argparse.BooleanOptionalAction, default=terminal)
    parser.add_argument("--script", default=SCRIPT, help="start:trouble:seconds,…")
    parser.add_argument("--seconds", type=float, default=200, help="the training ends after them, unless it is stopped before")
    parser.add_argument("--wait", type=float, default=100, help="maximum seconds until the job is over")
    demo = Demo(parser.parse_args())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    interrupted = False
    try:
        try:
            demo.run()
        except KeyboardInterrupt:
            interrupted = True
            say("stopping")
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            codes = demo.stop()
        result = 130 if interrupted and not demo.finished else demo.summary(codes)
    finally:
        demo.stop_broker()
    if result in (0, 130):
        shutil.rmtree(demo.work, ignore_errors=True)
    else:
        say("logs and data are left in " + demo.work)
    return result


if __name__ == "__main__":
    sys.exit(main())
