#!/usr/bin/env python3
"""Tests how the end of a rank in a pod is determined from the container status. The real HTTP adapter reads PodLists from a fake API server.

pods_test.py BINARY
"""
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, Pitwall, Watch, fetch, wait_for, write  # noqa: E402

BINARY = None
# Root directories of cgroups version 1 (any controller works) and version 2.
GROUPS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup")

# Two server errors delay the pod status until the death has been reported, even on a busy machine. Without the errors, timing would determine whether
# a status arrives within 1.5 s.
LATE = [(500, "busy")] * 2

RANK = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
with open(sys.argv[2] + "/cgroup.procs", "w") as group:
    group.write(str(os.getpid()))
import pitwall
pitwall.init(job=sys.argv[3])
for _ in pitwall.steps(range(100000)):
    time.sleep(0.05)
"""


def group_root():
    for root in GROUPS:
        path = os.path.join(root, "kubepods")
        try:
            os.makedirs(path, exist_ok=True)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, "cgroup.procs")):
            return path
    return None


class Server(http.server.ThreadingHTTPServer):
    """Fake API server that first returns the configured faults and then the configured pods."""
    daemon_threads = True

    def __init__(self):
        self.pods, self.faults = {}, []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, body = 200, json.dumps({"kind": "PodList", "apiVersion": "v1", "items": list(server.pods.values())})
                if self.headers["Authorization"] != "Bearer secret":
                    status, body = 401, "Unauthorized"
                elif server.faults:
                    status, body = server.faults.pop(0)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body.encode())
                except OSError:
                    pass  # the client has closed the connection

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Pods(unittest.TestCase):
    """Tests with one pod each."""

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="pitwall-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.server = Server()
        cls.addClassCleanup(cls.server.server_close)
        cls.addClassCleanup(cls.server.shutdown)
        token = write(os.path.join(cls.work, "token"), "secret\n")
        config = write(os.path.join(cls.work, "pitwall.yaml"), json.dumps({"collector": {"node": "n1", "pods": {
            "url": "http://127.0.0.1:%d/api/v1/pods?fieldSelector=spec.nodeName={node}" % cls.server.server_port,
            "token_file": token, "ca_file": ""}}}))
        cls.pitwall = Pitwall(BINARY, os.path.join(cls.work, "log"), "--config", config,
                              "--data-dir", os.path.join(cls.work, "data"), "--rules", "pack:default")
        cls.addClassCleanup(cls.pitwall.stop)
        cls.watch = Watch(BINARY, cls.pitwall.grpc)
        cls.addClassCleanup(cls.watch.stop)

    def setUp(self):
        self.job = self.id().rpartition(".")[2]
        self.pod, self.container = str(uuid.uuid4()), uuid.uuid4().hex + uuid.uuid4().hex
        group = os.path.join(group_root(), "pod" + self.pod, self.container)
        os.makedirs(group)
        self.addCleanup(lambda: (os.rmdir(group), os.rmdir(os.path.dirname(group))))
        self.rank = subprocess.Popen([sys.executable, "-c", RANK, CLIENT, group, self.job],
                                     env=dict(os.environ, PITWALL_SOCKET=os.path.join(self.work, "data", "collector.sock")))
        self.addCleanup(self.rank.wait)
        self.addCleanup(self.rank.kill)
        wait_for("the attempt", lambda: self.events("io.pitwall.job.changed", job_change="attempt_began"))

    def events(self, kind, **data):
        return [e for _, e in self.watch.events(kind, **data) if e["job"].get("name", "") == self.job]

    def found(self):
        return [(i["alert"], i["labels"].get("cause")) for i in self.events("io.pitwall.issue.found")
                if i["labels"]["category"] != "bottleneck"]

    def end_rank(self, number, code, reason, metadata=None, status=None, faults=()):
        """Sets the status of the rank's container, and ends the rank with a signal. The server returns the faults before it returns the status."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.server.faults = list(faults)
        self.server.pods[self.pod] = {
            "metadata": dict({"name": self.job, "namespace": "research", "uid": self.pod}, **(metadata or {})),
            "spec": {"nodeName": "n"},
            "status": dict({"phase": "Failed", "containerStatuses": [
                {"name": "train", "containerID": "containerd://" + self.container, "restartCount": 0, "lastState": {},
                 "state": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": now,
                                          "containerID": "containerd://" + self.container}}}]}, **(status or {}))}
        self.rank.send_signal(number)
        # The rank's parent collects the exit status only after the test, so that the collector can read the status during the test.
        os.waitid(os.P_PID, self.rank.pid, os.WEXITED | os.WNOWAIT)

    def expect_issues(self, *issues):
        """Expects these issues. The job itself waits for a restart, because the process that started the pod's containers is still running."""
        wait_for("the issues", lambda: len(self.found()) >= len(issues))
        end = wait_for("the end of the attempt", lambda: self.events("io.pitwall.job.changed", job_change="attempt_ended"))[0]
        self.assertEqual(self.found(), list(issues))
        self.assertEqual(end["end_detail"], "died")

    def test_pod_eviction_is_reported_as_cause(self):
        self.end_rank(signal.SIGKILL, 137, "Error", status={"reason": "Evicted", "message": "The node was low on resource: memory."},
                  faults=LATE)
        self.expect_issues(("RankDied", "signal 9"), ("RankDied", "Evicted"))

    def test_deleted_pod_is_a_cancellation(self):
        asked = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 29))
        self.end_rank(signal.SIGTERM, 143, "Error", metadata={"deletionTimestamp": asked, "deletionGracePeriodSeconds": 30},
                  faults=LATE)
        self.expect_issues(("RankDied", "signal 15"), ("JobCancelled", None))

    def test_container_error_is_a_death(self):
        self.end_rank(signal.SIGTERM, 143, "Error")
        self.expect_issues(("RankDied", "signal 15"))

    def test_server_errors_delay_only_cause_not_death(self):
        self.end_rank(signal.SIGKILL, 137, "OOMKilled", faults=[
            (403, "forbidden"), (200, '{"kind": "PodList", "items": [{'), (200, " " * (33 << 20))])
        self.expect_issues(("RankDied", "signal 9"), ("RankDied", "out of memory"))
        self.assertIn("permission to list pods", self.pitwall.log())

    def test_rank_of_vanished_pod_is_reported_dead(self):
        self.rank.kill()
        self.expect_issues(("RankDied", "signal 9"))

    def test_pod_owner_becomes_job_reference(self):
        """Starts a second Pitwall process that resolves owners, and reads the job's object from its API."""
        owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "llm", "uid": str(uuid.uuid4()), "controller": True}
        self.server.pods[self.pod] = {"metadata": {"name": "llm-worker-0", "namespace": "research", "uid": self.pod, "ownerReferences": [owner]},
                                      "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
        own = os.path.join(self.work, "own")
        config = write(own + ".yaml", json.dumps({"collector": {"node": "n1", "pods": {
            "url": "http://127.0.0.1:%d/api/v1/pods" % self.server.server_port, "owners": True,
            "token_file": os.path.join(self.work, "token"), "ca_file": ""}}}))
        pitwall = Pitwall(BINARY, own + ".log", "--config", config, "--data-dir", own)
        self.addCleanup(pitwall.stop)
        group = os.path.join(group_root(), "pod" + self.pod, self.container)
        rank = subprocess.Popen([sys.executable, "-c", RANK, CLIENT, group, self.job],
                                env=dict(os.environ, PITWALL_SOCKET=os.path.join(own, "collector.sock")))
        self.addCleanup(rank.wait)
        self.addCleanup(rank.kill)

        def references():
            jobs = json.loads(fetch(pitwall.http + "/api/pitwall/v1/jobs")[1])["jobs"]
            return [job["reference"] for job in jobs if job["name"] == self.job and job["reference"]["platform"] == "kubernetes"]

        known, = wait_for("the object", references)
        self.assertEqual((known["namespace"], known["kind"], known["name"], known["uid"]), ("research", "PyTorchJob", "llm", owner["uid"]))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if os.geteuid() != 0 or group_root() is None:
        print("NOTE: pods_test.py is skipped because it needs root and permission to create cgroups")
        sys.exit(77)
    unittest.main(verbosity=2)
