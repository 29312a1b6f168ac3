#!/usr/bin/env python3
"""Tests the chart and the executor with a real kube-apiserver and etcd.

kube_test.py BINARY

Requires the output of tests/kube/build.sh and tests/helm/tools.sh. Without it, prints a note and does not run any tests.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(HERE, "..", "e2e")
sys.path[:0] = [HERE, E2E, os.path.join(E2E, "ranks")]
from cluster import Cluster, Refused, run  # noqa: E402
from harness import CLIENT, REPO, Pitwall, fetch, wait_for, write  # noqa: E402
from pods_test import RANK, group_root  # noqa: E402
from schemas import write_schemas  # noqa: E402

CHART = os.path.join(REPO, "helm", "pitwall")
GOLDEN = sorted(glob.glob(os.path.join(CHART, "ci", "golden", "*.yaml")))
BINARY = TOOLS = HELM = CLUSTER = None

DEFINED = [("monitoring.coreos.com", "v1", "ServiceMonitor"), ("monitoring.coreos.com", "v1", "PodMonitor"),
           ("monitoring.coreos.com", "v1", "PrometheusRule"), ("kafka.strimzi.io", "v1beta2", "KafkaTopic"),
           ("kafka.strimzi.io", "v1beta2", "KafkaUser"), ("gateway.networking.k8s.io", "v1", "HTTPRoute"),
           ("kubeflow.org", "v1", "PyTorchJob")]

# Training script for the job's pod. The tests set the environment variables that the downward API would set. On SIGTERM, the script fails with an
# exception that must not be reported as its fault.
TRAINING = """
import math, signal, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
def end(*_):
    raise RuntimeError("interrupted")
signal.signal(signal.SIGTERM, end)
pitwall.init()
number = 0
for _ in pitwall.steps(range(100000)):
    time.sleep(0.02)
    number += 1
    pitwall.log(loss=math.nan if number > 20 else 1.0)
"""


def helm(*arguments):
    return run(os.path.join(HELM, "helm"), *arguments, env=dict(os.environ, KUBECONFIG=CLUSTER.kubeconfig, HELM_CACHE_HOME=CLUSTER.path("helm"),
                                                                HELM_CONFIG_HOME=CLUSTER.path("helm"), HELM_DATA_HOME=CLUSTER.path("helm")))


class Chart(unittest.TestCase):
    def test_chart_is_installed_upgraded_rolled_back_and_removed(self):
        values = os.path.join(CHART, "ci", "everything-values.yaml")
        for namespace in ("research", "ml"):
            CLUSTER.namespace(namespace)
        CLUSTER.namespace("all")
        CLUSTER.call("POST", "/api/v1/namespaces/all/services", {"metadata": {"name": "others"}, "spec": {"ports": [{"port": 1}]}})
        processor = "/apis/apps/v1/namespaces/all/statefulsets/pitwall-processor"
        helm("install", "pitwall", CHART, "--namespace", "all", "-f", values)
        self.assertEqual(CLUSTER.get(processor)["spec"]["replicas"], 3)
        for path in ("/apis/apps/v1/namespaces/all/daemonsets/pitwall-collector", "/apis/apps/v1/namespaces/all/deployments/pitwall-executor-cluster",
                     "/apis/rbac.authorization.k8s.io/v1/namespaces/research/roles/pitwall-executor-cluster",
                     "/apis/monitoring.coreos.com/v1/namespaces/all/prometheusrules/pitwall-alerts", "/api/v1/namespaces/all/configmaps/pitwall-extra"):
            self.assertTrue(CLUSTER.exists(path), path)
        checksum = CLUSTER.get(processor)["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

        helm("upgrade", "pitwall", CHART, "--namespace", "all", "-f", values, "--set", "processor.replicas=2,executor.cluster.namespaces={ml}",
             "--set", "processor.config.processor.commit_interval=2s")
        upgraded = CLUSTER.get(processor)
        self.assertEqual(upgraded["spec"]["replicas"], 2)
        self.assertNotEqual(upgraded["spec"]["template"]["metadata"]["annotations"]["checksum/config"], checksum)
        self.assertIsNone(CLUSTER.exists("/apis/rbac.authorization.k8s.io/v1/namespaces/research/roles/pitwall-executor-cluster"))

        helm("rollback", "pitwall", "1", "--namespace", "all")
        back = CLUSTER.get(processor)
        self.assertEqual(back["spec"]["replicas"], 3)
        self.assertEqual(back["spec"]["template"]["metadata"]["annotations"]["checksum/config"], checksum)
        self.assertTrue(CLUSTER.exists("/apis/rbac.authorization.k8s.io/v1/namespaces/research/roles/pitwall-executor-cluster"))
        self.assertEqual([entry["status"] for entry in json.loads(helm("history", "pitwall", "--namespace", "all", "-o", "json"))],
                         ["superseded", "superseded", "deployed"])

        helm("uninstall", "pitwall", "--namespace", "all")
        self.assertIsNone(CLUSTER.exists(processor))
        self.assertTrue(CLUSTER.exists("/api/v1/namespaces/all/services/others"))

    def test_server_accepts_each_rendering(self):
        for values in sorted(glob.glob(os.path.join(CHART, "ci", "*-values.yaml"))):
            namespace = "dry-" + os.path.basename(values).replace("-values.yaml", "")
            for needed in (namespace, "ml", "research"):
                CLUSTER.namespace(needed)
            helm("install", "pitwall", CHART, "--namespace", namespace, "-f", values, "--dry-run=server")
            helm("install", "pitwall", CHART, "--namespace", namespace, "-f", values)
            helm("uninstall", "pitwall", "--namespace", namespace)

    def test_kubeconform_accepts_each_rendering(self):
        folder = tempfile.mkdtemp(dir=CLUSTER.work)
        custom = {kind for _, _, kind in DEFINED}
        kinds = set()
        for golden in GOLDEN:
            with open(golden, encoding="utf-8") as file:
                kinds |= set(re.findall(r"^apiVersion: (\S+)\nkind: (\S+)$", file.read(), re.M))
        write_schemas(CLUSTER.get("/openapi/v2"), folder, sorted(k for k in kinds if k[1] not in custom))
        location = folder + "/{{.ResourceKind}}{{.KindSuffix}}.json"
        command = [os.path.join(TOOLS, "kubeconform"), "-strict", "-summary", "-schema-location", location, "-skip", ",".join(sorted(custom))]
        printed = run(*command, *GOLDEN)
        self.assertRegex(printed, r"Valid: [1-9]\d*, Invalid: 0, Errors: 0, Skipped: \d+")
        with open(os.path.join(CHART, "ci", "golden", "distributed.yaml"), encoding="utf-8") as file:
            wrong = write(os.path.join(folder, "wrong.yaml"), file.read().replace("hostPID: true", "hostPid: true"))
        with self.assertRaisesRegex(AssertionError, "hostPid"):
            run(*command, wrong)


class JobStops(unittest.TestCase):
    """Tests with a real Job object and an issue for the job that it represents. Requests use the chart's service account and Role."""

    number = 0
    kind = "Job"

    def setUp(self):
        JobStops.number += 1
        self.namespace = "stops-%d" % JobStops.number
        CLUSTER.namespace(self.namespace)
        self.work = tempfile.mkdtemp(dir=CLUSTER.work)
        self.pitwall = self.training = None

    def tearDown(self):
        if self.training is not None:
            self.training.kill()
            self.training.wait()
        if self.pitwall is not None:
            self.pitwall.stop()
            self.pitwall.kill()

    def install(self, *sets):
        values = os.path.join(CHART, "ci", "standalone-stops-values.yaml")
        flags = [flag for text in ("executor.cluster.namespaces={%s}" % self.namespace,
                                   "executor.policies[0].rule=*/LossNotFinite,executor.policies[0].mode=live,executor.policies[0].grace=20s") + sets
                 for flag in ("--set", text)]
        helm("install", "pitwall", CHART, "--namespace", self.namespace, "-f", values, *flags)
        self.token = write(os.path.join(self.work, "token"), CLUSTER.token(self.namespace, "pitwall-standalone"))
        self.config = CLUSTER.get("/api/v1/namespaces/%s/configmaps/pitwall-standalone" % self.namespace)["data"]["pitwall.yaml"]

    def start(self):
        """Starts the service with the configuration installed by the chart, at addresses on this machine."""
        text = self.config.replace("/run/pitwall/", self.work + "/").replace("/var/lib/pitwall", os.path.join(self.work, "data"))
        text = text.replace("    enabled: true\n    list_pods", "    enabled: true\n    server: %s\n    token_file: %s\n    ca_file: %s\n    list_pods" % (
            CLUSTER.server, self.token, CLUSTER.path("ca.crt")))
        self.assertIn(CLUSTER.server, text)
        path = write(os.path.join(self.work, "pitwall.yaml"), text)
        self.pitwall = Pitwall(BINARY, os.path.join(self.work, "log"), "--config", path, "--http-listen", "127.0.0.1:0")

    def object_path(self, name="", kind="Job"):
        api = {"Job": "batch/v1/namespaces/%s/jobs", "PyTorchJob": "kubeflow.org/v1/namespaces/%s/pytorchjobs"}[kind]
        return "/apis/" + api % self.namespace + ("/" + name if name else "")

    def make(self, kind="Job", owner=None, node=None):
        pod = {"metadata": {"labels": {"a": "b"}},
               "spec": {"restartPolicy": "Never", "containers": [{"name": "train", "image": "train"}], **({"nodeName": node} if node else {})}}
        spec = {"parallelism": 2, "completions": 2, "template": pod} if kind == "Job" else {
            "runPolicy": {}, "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": pod}}}
        metadata = {"name": "train", "annotations": {"pitwall.io/owner": owner or "uid:%d" % os.getuid()}}
        api = "batch/v1" if kind == "Job" else "kubeflow.org/v1"
        made = CLUSTER.call("POST", self.object_path(kind=kind), {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})
        if kind == "Job":
            wait_for("two pods", lambda: CLUSTER.get(self.object_path("train"))["status"].get("active") == 2)
        return made["metadata"]["uid"]

    def train(self, uid, kind="Job"):
        variables = {"PITWALL_SOCKET": os.path.join(self.work, "collector.sock"), "PITWALL_PLATFORM": "kubernetes", "PITWALL_JOB": "train",
                     "PITWALL_NAMESPACE": self.namespace, "PITWALL_KIND": kind, "PITWALL_JOB_UID": uid, "PITWALL_JOB_ID": "train-" + uid}
        self.training = subprocess.Popen([sys.executable, "-c", TRAINING, CLIENT], env=dict(os.environ, **variables), stderr=subprocess.DEVNULL)

    def list(self, *what):
        return run(BINARY, *what, "--data-dir", os.path.join(self.work, "data"))

    def actions(self, kind):
        """Returns the lines of `pitwall actions list` with this kind: DECIDED, REFUSED, or DONE."""
        return [line for line in self.list("actions", "list").splitlines() if "  %s" % kind in line]

    def suspended(self, kind="Job"):
        spec = CLUSTER.get(self.object_path("train", kind))["spec"]
        return bool((spec if kind == "Job" else spec["runPolicy"]).get("suspend"))

    def refusal(self):
        line, = wait_for("a refusal", lambda: self.actions("REFUSED"))
        self.assertEqual(self.actions("DECIDED"), [])
        self.assertFalse(self.suspended(self.kind))
        return line

    def test_job_is_suspended_once_and_ends_as_stopped(self):
        self.install()
        uid = self.make()
        self.start()
        self.train(uid)
        wait_for("the suspension", self.suspended)
        self.training.terminate()  # as the kubelet would
        self.assertEqual(self.training.wait(60), 1)
        done, = wait_for("the outcome", lambda: self.actions("DONE"))
        self.assertIn("Job %s/train suspended; no pod is active" % self.namespace, done)
        self.assertIn("LossNotFinite", done)
        decided, = self.actions("DECIDED")
        self.assertIn("Job %s/train (uid %s) is not suspended and belongs to uid:%d" % (self.namespace, uid, os.getuid()), decided)
        wait_for("the end of the job", lambda: re.search(r"train.*stopped", self.list("jobs", "list")))
        self.assertNotIn("RankDied", self.list("issues", "list", "--all"))
        self.assertEqual(CLUSTER.get(self.object_path("train"))["status"].get("active", 0), 0)
        # A person resumes the job. The same issue must not stop it again, even in a new process.
        CLUSTER.call("PATCH", self.object_path("train"), {"spec": {"suspend": False}}, "application/merge-patch+json")
        self.pitwall.stop()
        self.start()
        wait_for("two pods", lambda: CLUSTER.get(self.object_path("train"))["status"].get("active") == 2)
        self.assertEqual(len(self.actions("DECIDED")), 1)
        self.assertFalse(self.suspended())

    def test_pytorchjob_is_suspended(self):
        self.install("executor.cluster.kinds={PyTorchJob}")
        uid = self.make("PyTorchJob")
        self.start()
        self.train(uid, "PyTorchJob")
        wait_for("the suspension", lambda: self.suspended("PyTorchJob"))
        done, = wait_for("the outcome", lambda: self.actions("DONE"))
        self.assertIn("PyTorchJob %s/train suspended" % self.namespace, done)

    def test_each_guard_prevents_the_stop_of_a_pytorchjob(self):
        rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings/pitwall-executor-cluster"
        for guard, reason in (("executor.policies[0].mode=dry_run", "dry run"), ("executor.budget=0", "budget: 0 live actions"),
                              ("executor.exempt[0].job=train", "exempt by executor.exempt: job train"),
                              ("", 'response 403 to get PyTorchJob .*cannot get resource "pytorchjobs".*grant permission to get it')):
            with self.subTest(reason):
                self.kind = "PyTorchJob"
                self.install("executor.cluster.kinds={PyTorchJob}", *([guard] if guard else []))
                if not guard:
                    CLUSTER.call("DELETE", rights % self.namespace)
                uid = self.make(self.kind)
                self.start()
                self.train(uid, self.kind)
                if guard.endswith("dry_run"):
                    line, = wait_for("the decision", lambda: self.actions("DECIDED"))
                    self.assertEqual(self.actions("DONE"), [])
                else:
                    line = self.refusal()
                self.assertRegex(line, reason)
                self.assertFalse(self.suspended(self.kind))
            self.tearDown()
            self.setUp()

    def test_job_is_deleted_if_configured(self):
        self.install("executor.cluster.delete=true")
        uid = self.make()
        self.start()
        self.train(uid)
        wait_for("the deletion", lambda: CLUSTER.exists(self.object_path("train")) is None)
        done, = wait_for("the outcome", lambda: self.actions("DONE"))
        self.assertIn("deleted; the object is gone", done)

    def test_dry_run_does_not_suspend_the_job(self):
        self.install("executor.policies[0].mode=dry_run")
        uid = self.make()
        self.start()
        self.train(uid)
        decided, = wait_for("the decision", lambda: self.actions("DECIDED"))
        self.assertIn("dry run", decided)
        self.assertFalse(self.suspended())
        self.assertEqual(self.actions("DONE"), [])

    def test_dry_run_deletes_nothing(self):
        self.install("executor.policies[0].mode=dry_run", "executor.cluster.delete=true")
        uid = self.make()
        self.start()
        self.train(uid)
        decided, = wait_for("the decision", lambda: self.actions("DECIDED"))
        self.assertIn("dry run", decided)
        self.assertEqual(CLUSTER.get(self.object_path("train"))["metadata"]["uid"], uid)

    def test_exhausted_budget_prevents_the_stop(self):
        self.install("executor.budget=0")
        uid = self.make()
        self.start()
        self.train(uid)
        self.assertRegex(self.refusal(), "budget")

    def test_exemption_prevents_the_stop(self):
        self.install("executor.exempt[0].namespace=stops-*")
        uid = self.make()
        self.start()
        self.train(uid)
        self.assertIn("exempt by executor.exempt: namespace stops-*", self.refusal())

    def test_stop_without_role_binding_reports_missing_permission(self):
        self.install()
        CLUSTER.call("DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings/pitwall-executor-cluster" % self.namespace)
        uid = self.make()
        self.start()
        self.train(uid)
        self.assertRegex(self.refusal(), 'response 403 to get Job .*cannot get resource "jobs".*grant permission to get it')

    def test_stop_without_patch_permission_is_refused_before_decision(self):
        self.install()
        role = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles/pitwall-executor-cluster" % self.namespace
        CLUSTER.call("PATCH", role, {"rules": [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}]}, "application/merge-patch+json")
        uid = self.make()
        self.start()
        self.train(uid)
        self.assertRegex(self.refusal(), 'response 403 to patch Job .*cannot patch resource "jobs".*grant permission to patch it')

    def test_role_grants_no_other_permissions(self):
        self.install()
        uid = self.make()
        with open(self.token) as file:
            token = file.read()
        name = self.object_path("train")
        self.assertEqual(CLUSTER.call("GET", name, token=token)["metadata"]["uid"], uid)
        for method, path in (("GET", self.object_path()), ("DELETE", name), ("PATCH", name + "/status"), ("GET", "/api/v1/namespaces/%s/pods" % self.namespace),
                             ("GET", "/api/v1/namespaces/%s/secrets" % self.namespace), ("GET", "/apis/batch/v1/namespaces/default/jobs/x")):
            with self.assertRaises(Refused) as refused:
                CLUSTER.call(method, path, {} if method != "GET" else None, "application/merge-patch+json", token=token)
            self.assertEqual(refused.exception.status, 403, path)

    def test_other_object_with_same_name_is_not_changed(self):
        self.install()
        uid = self.make()
        CLUSTER.call("DELETE", self.object_path("train"), {"propagationPolicy": "Background"})
        wait_for("the deletion", lambda: CLUSTER.exists(self.object_path("train")) is None)
        other = self.make()
        self.assertNotEqual(uid, other)
        self.start()
        self.train(uid)
        self.assertIn("was replaced by another object: its uid is " + other, self.refusal())
        # The call contains the precondition, in case the object changes between the read and the call.
        with self.assertRaises(Refused) as refused:
            CLUSTER.call("PATCH", self.object_path("train"), {"metadata": {"uid": uid}, "spec": {"suspend": True}}, "application/merge-patch+json")
        self.assertIn(refused.exception.status, (409, 422))
        self.assertFalse(self.suspended())

    def test_job_of_another_owner_is_not_changed(self):
        self.install()
        uid = self.make(owner="uid:4711")
        self.start()
        self.train(uid)
        self.assertIn("belongs to uid:4711; the job belongs to uid:%d" % os.getuid(), self.refusal())

    def test_suspended_job_counts_as_stopped(self):
        self.install()
        uid = self.make()
        CLUSTER.call("PATCH", self.object_path("train"), {"spec": {"suspend": True}}, "application/merge-patch+json")
        self.start()
        self.train(uid)
        done, = wait_for("the outcome", lambda: self.actions("DONE"))
        self.assertIn("no pod is active", done)
        self.assertIn("is already suspended", self.actions("DECIDED")[0])

    @unittest.skipUnless(os.geteuid() == 0 and group_root(), "cannot create cgroups")
    def test_job_object_is_found_through_its_pod(self):
        """Finds the object through the pods created by the real controller, not through the training script."""
        self.install("standalone.hostSocket=true,collector.pods.enabled=true,collector.pods.owners=true,executor.cluster.listPods=true")
        uid = self.make(node="n1")
        CLUSTER.call("PATCH", self.object_path("train"), {"metadata": {"annotations": {"pitwall.io/owner": None}}}, "application/merge-patch+json")
        pods = "/api/v1/namespaces/%s/pods" % self.namespace
        pod = CLUSTER.get(pods)["items"][0]["metadata"]["uid"]
        group = os.path.join(group_root(), "pod" + pod, uuid.uuid4().hex * 2)
        os.makedirs(group)
        self.addCleanup(lambda: (os.rmdir(group), os.rmdir(os.path.dirname(group))))
        self.config = self.config.replace("url: https://kubernetes.default.svc", "token_file: %s\n    ca_file: %s\n    url: %s" % (
            self.token, CLUSTER.path("ca.crt"), CLUSTER.server)).replace("collector:", "collector:\n  node: n1", 1)
        self.start()
        go = os.path.join(self.work, "go")
        code = "import os, sys\nwith open(sys.argv[2] + '/cgroup.procs', 'w') as group:\n    group.write(str(os.getpid()))\n" + TRAINING
        code = code.replace("number > 20", "os.path.exists(sys.argv[3])")
        self.assertIn("exists", code)
        self.training = subprocess.Popen([sys.executable, "-c", code, CLIENT, group, go], stderr=subprocess.DEVNULL,
                                         env=dict(os.environ, PITWALL_SOCKET=os.path.join(self.work, "collector.sock"), PITWALL_JOB="train"))

        def references():
            return [job["reference"] for job in json.loads(fetch(self.pitwall.http + "/api/pitwall/v1/jobs")[1])["jobs"] if job["name"] == "train"]

        known, = wait_for("the object", lambda: [r for r in references() if r["platform"] == "kubernetes"])
        self.assertEqual({name: text for name, text in known.items() if text},
                         {"platform": "kubernetes", "namespace": self.namespace, "kind": "Job", "name": "train", "uid": uid})
        write(go, "")
        wait_for("the suspension", self.suspended)
        self.training.terminate()  # as the kubelet would before it reports that the pods no longer exist
        for item in CLUSTER.get(pods)["items"]:
            wait_for("the deletion", lambda: "deletionTimestamp" in CLUSTER.get(pods + "/" + item["metadata"]["name"])["metadata"])
            CLUSTER.call("DELETE", pods + "/" + item["metadata"]["name"], {"gracePeriodSeconds": 0})
        done, = wait_for("the outcome", lambda: self.actions("DONE"))
        self.assertIn("Job %s/train suspended; no pod is active" % self.namespace, done)


@unittest.skipUnless(os.geteuid() == 0 and group_root(), "cannot create cgroups")
class PodEndings(unittest.TestCase):
    """Tests with a pod on the real server and a rank in a cgroup. The test acts as the kubelet: it writes the pod's status and creates the cgroup."""

    def test_collector_needs_only_permission_to_list_pods(self):
        work = tempfile.mkdtemp(dir=CLUSTER.work)
        CLUSTER.namespace("ends")
        helm("install", "pitwall", CHART, "--namespace", "ends", "-f", os.path.join(CHART, "ci", "standalone-values.yaml"),
             "--set", "collector.pods.enabled=true")
        token = CLUSTER.token("ends", "pitwall-standalone")
        container = uuid.uuid4().hex + uuid.uuid4().hex
        pods = {}
        for node in ("n1", "n2"):
            pods[node] = CLUSTER.call("POST", "/api/v1/namespaces/ends/pods", {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-" + node},
                "spec": {"nodeName": node, "restartPolicy": "Never", "containers": [{"name": "train", "image": "train"}]}})["metadata"]["uid"]
        # Allowed and forbidden requests.
        listed = "/api/v1/pods?fieldSelector=spec.nodeName=n1"
        self.assertEqual([p["metadata"]["uid"] for p in CLUSTER.call("GET", listed, token=token)["items"]], [pods["n1"]])
        for method, path in (("GET", "/api/v1/namespaces/ends/pods/train-n1"), ("GET", listed + "&watch=true&timeoutSeconds=1"),
                             ("DELETE", "/api/v1/namespaces/ends/pods/train-n1"), ("GET", "/api/v1/secrets"), ("GET", "/api/v1/nodes")):
            with self.assertRaises(Refused) as refused:
                CLUSTER.call(method, path, token=token)
            self.assertEqual(refused.exception.status, 403, path)
        bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        binding = CLUSTER.get(bindings + "/pitwall-ends-pods")
        CLUSTER.call("DELETE", bindings + "/pitwall-ends-pods")

        text = CLUSTER.get("/api/v1/namespaces/ends/configmaps/pitwall-standalone")["data"]["pitwall.yaml"]
        text = text.replace("/run/pitwall/", work + "/").replace("/var/lib/pitwall", os.path.join(work, "data"))
        url = "url: https://kubernetes.default.svc"
        self.assertIn(url, text)
        text = text.replace(url, "token_file: %s\n    ca_file: %s\n    url: %s" % (write(os.path.join(work, "token"), token), CLUSTER.path("ca.crt"),
                                                                              CLUSTER.server))
        pitwall = Pitwall(BINARY, os.path.join(work, "log"), "--config", write(os.path.join(work, "pitwall.yaml"), text),
                          "--http-listen", "127.0.0.1:0", "--node", "n1")
        self.addCleanup(pitwall.kill)
        group = os.path.join(group_root(), "pod" + pods["n1"], container)
        os.makedirs(group)
        self.addCleanup(lambda: (os.rmdir(group), os.rmdir(os.path.dirname(group))))
        rank = subprocess.Popen([sys.executable, "-c", RANK, CLIENT, group, "train"],
                                env=dict(os.environ, PITWALL_SOCKET=os.path.join(work, "collector.sock")))
        self.addCleanup(rank.wait)
        self.addCleanup(rank.kill)

        def issues():
            return run(BINARY, "issues", "list", "--all", "--data-dir", os.path.join(work, "data"))

        wait_for("the attempt", lambda: "train" in run(BINARY, "jobs", "list", "--data-dir", os.path.join(work, "data")))
        terminated = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                      "containerID": "containerd://" + container}
        CLUSTER.call("PATCH", "/api/v1/namespaces/ends/pods/train-n1/status", {"status": {"phase": "Failed", "containerStatuses": [
            {"name": "train", "image": "train", "imageID": "", "ready": False, "restartCount": 0, "containerID": "containerd://" + container,
             "state": {"terminated": terminated}}]}}, "application/merge-patch+json")
        rank.kill()
        os.waitid(os.P_PID, rank.pid, os.WEXITED | os.WNOWAIT)
        wait_for("the death as seen from the process", lambda: "signal 9" in issues())
        wait_for("the missing right", lambda: pitwall.said("permission to list pods"))
        CLUSTER.call("POST", bindings, {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                                        "metadata": {"name": "pitwall-ends-pods"}, "roleRef": binding["roleRef"], "subjects": binding["subjects"]})
        wait_for("the pod's status", lambda: "out of memory" in issues())
        self.assertEqual(pitwall.stop(), 0, pitwall.log())
        helm("uninstall", "pitwall", "--namespace", "ends")


def main():
    global BINARY, TOOLS, HELM, CLUSTER
    BINARY = os.path.abspath(sys.argv[1])
    TOOLS = run(os.path.join(HERE, "build.sh"), "--cached").strip()
    HELM = run(os.path.join(HERE, "..", "helm", "tools.sh"), "--cached").strip()
    if not TOOLS or not HELM:
        print("NOTE: kube-apiserver is not built, so the chart and stopping Jobs are not tested with it (tests/kube/build.sh, tests/helm/tools.sh)")
        return
    CLUSTER = Cluster(TOOLS)
    print("kube-apiserver is ready after %.1f s" % CLUSTER.ready_seconds)
    try:
        for group, version, kind in DEFINED:
            CLUSTER.define(group, version, kind)
        unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
    finally:
        CLUSTER.stop()


if __name__ == "__main__":
    main()
