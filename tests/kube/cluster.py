"""A real kube-apiserver with etcd and the Job controllers, without nodes. It validates, stores, and executes requests, but pods never run. Every
process is stopped by its PID."""
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import wait_for, write  # noqa: E402

ADMIN = "admin-token"
PATIENCE = 180


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def run(*command, **options):
    done = subprocess.run(list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, **options)
    if done.returncode:
        raise AssertionError("%s: exit %d: %s" % (" ".join(command), done.returncode, done.stdout))
    return done.stdout


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__("%d: %s" % (status, message))
        self.status = status


class Cluster:
    def __init__(self, tools):
        self.tools = tools
        self.work = tempfile.mkdtemp(prefix="pitwall-kube-")
        self.processes = []
        try:
            self._make_certificates()
            self._start()
        except BaseException:
            self.stop()
            raise

    def path(self, name):
        return os.path.join(self.work, name)

    def _make_certificates(self):
        def openssl(*arguments):
            run("openssl", *arguments, cwd=self.work)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=test-ca")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "apiserver.key", "-out", "apiserver.csr", "-subj", "/CN=kube-apiserver")
        write(self.path("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:10.0.0.1\nextendedKeyUsage=serverAuth\n")
        openssl("x509", "-req", "-in", "apiserver.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
                "-out", "apiserver.crt", "-extfile", "names")
        openssl("genrsa", "-out", "sa.key", "2048")
        openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
        write(self.path("tokens.csv"), '%s,admin,1,"system:masters"\n' % ADMIN)

    def _spawn(self, program, *arguments):
        with open(self.path(program + ".log"), "w") as log:
            process = subprocess.Popen([os.path.join(self.tools, program), *arguments], stdout=log, stderr=log, cwd=self.work)
        self.processes.append(process)
        return process

    def _start(self):
        client, peer, api = free_ports(3)
        etcd = "http://127.0.0.1:%d" % client
        self.server = "https://127.0.0.1:%d" % api
        self.context = ssl.create_default_context(cafile=self.path("ca.crt"))
        self._spawn("etcd", "--name", "test", "--data-dir", "etcd-data", "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
                    "--listen-peer-urls", "http://127.0.0.1:%d" % peer, "--initial-advertise-peer-urls", "http://127.0.0.1:%d" % peer,
                    "--initial-cluster", "test=http://127.0.0.1:%d" % peer, "--unsafe-no-fsync", "--log-level", "warn")
        server = self._spawn(
            "kube-apiserver", "--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--secure-port=%d" % api, "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none", "--tls-cert-file=apiserver.crt", "--tls-private-key-file=apiserver.key",
            "--client-ca-file=ca.crt", "--service-account-issuer=" + self.server, "--service-account-key-file=sa.pub",
            "--service-account-signing-key-file=sa.key", "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC",
            "--token-auth-file=tokens.csv", "--disable-admission-plugins=ServiceAccount", "--enable-priority-and-fairness=false", "--v=1")
        began = time.monotonic()

        def ready():
            assert server.poll() is None, self.log("kube-apiserver")
            try:
                return self.get("/readyz") == "ok"
            except (OSError, Refused):
                return False

        wait_for("kube-apiserver to be ready", ready, PATIENCE)
        self.ready_seconds = time.monotonic() - began
        self.kubeconfig = write(self.path("kubeconfig"), json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.server, "certificate-authority": self.path("ca.crt")}}],
            "users": [{"name": "admin", "user": {"token": ADMIN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}]}))
        self._spawn("kube-controller-manager", "--kubeconfig=" + self.kubeconfig, "--controllers=job-controller,garbage-collector-controller",
                    "--leader-elect=false", "--secure-port=0", "--service-account-private-key-file=sa.key")

    def log(self, program):
        with open(self.path(program + ".log")) as file:
            return file.read()[-4000:]

    def call(self, method, path, body=None, kind="application/json", token=ADMIN):
        request = urllib.request.Request(self.server + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": "Bearer " + token, "Content-Type": kind, "Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.context) as reply:
                text = reply.read().decode()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode()[:500]) from None
        return json.loads(text) if text.startswith("{") else text

    def get(self, path):
        return self.call("GET", path)

    def exists(self, path):
        try:
            return self.get(path)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def namespace(self, name):
        if not self.exists("/api/v1/namespaces/" + name):
            self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def define(self, group, version, kind):
        """Creates a CustomResourceDefinition without a schema, with the real group, version, and kind."""
        plural = kind.lower() + "s"
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.call("POST", path, {
            # Groups below k8s.io require this annotation.
            "metadata": {"name": plural + "." + group, "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"},
                     "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})

        def served():
            try:
                return self.exists("/apis/%s/%s/%s" % (group, version, plural))
            except Refused as error:
                if error.status == 429:  # the server is still creating the storage
                    return None
                raise

        wait_for(kind + " to be served", served)

    def token(self, namespace, account):
        reply = self.call("POST", "/api/v1/namespaces/%s/serviceaccounts/%s/token" % (namespace, account),
                          {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}})
        return reply["status"]["token"]

    def stop(self):
        for process in reversed(self.processes):  # stops the API server before etcd
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.work, ignore_errors=True)
