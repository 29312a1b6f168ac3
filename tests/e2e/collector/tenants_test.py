#!/usr/bin/env python3
"""Attacks by one user of a node against another, run as real users: joining a job, ending it, squatting its ID, and denial of service.

tenants_test.py BINARY

The test needs root because each attacker runs under its own UID; without root it is skipped. docs/security.md contains the matrix that is covered by
these tests and the tests in services/collector, services/engine, and services/executor.
"""
import json
import os
import signal
import socket
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, Pitwall, wait_for, write  # noqa: E402

sys.path.insert(0, CLIENT)
from pitwall import _identity, _wire  # noqa: E402

BINARY = None
ALICE, MALLORY, CAROL = 61000, 61001, 61002
GROUP = 61100

RULES = """
groups:
- name: g
  interval: 1s
  rules:
  - alert: LossNotFinite
    expr: train_loss != train_loss
    labels: {severity: critical}
"""

CONFIG = """
collector:
  gpus: false
  interval: 200ms
  drop_dir: %(work)s/drop
  socket: %(work)s/run/collector.sock
  limits: {idle_timeout: 10s, bytes_per_second_per_owner: 1048576}
rules: {files: [%(work)s/rules.yaml]}
executor:
  enabled: true
  policies: [{rule: "*", mode: live, grace: 2s}]
"""


class Client:
    """Raw client that can send any message of the protocol, as a malicious process might."""

    def __init__(self, path, job_id="", rank=0, pid=None, job="train", hello=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(30)
        self.sequence = 0
        self.written = 0
        self.path = path
        self.identity = _identity.identify(env={}, job=job, job_id=job_id, rank=rank, world_size=2)
        try:
            self.socket.connect(path)
            self.said = ""
            if hello:
                self.send(_wire.hello(self.identity, "boot-%d-%d" % (os.getpid(), id(self)), time.time_ns(),
                                      pid or os.getpid()))
                self.said = self.answer()
        except PermissionError:
            self.said = "no permission"
        except OSError as error:
            self.said = self.answer() or "closed (%s)" % error

    def send(self, body):
        self.socket.sendall(_wire.frame(body))

    def answer(self):
        """Returns "welcome <job>", "<refusal reason>: <message>", or "closed"."""
        try:
            body = self.read()
        except (ConnectionError, OSError):
            return "closed"
        welcome, refused = _wire.read_welcome(body), _wire.read_refused(body)
        return "welcome " + welcome["job_id"] if welcome else "%s: %s" % refused

    def log(self, loss):
        self.sequence += 1
        now = time.time_ns()
        self.send(_wire.update(self.sequence, [_wire.value("train_loss", b"", loss, now, self.sequence, "train")], now,
                               [("train", self.sequence)], 0, "", 0, self.sequence, "train"))

    def beat(self):
        """Sends an empty update. Returns the number of seconds until the collector acknowledges the update as durable."""
        self.sequence += 1
        began = time.monotonic()
        self.send(_wire.update(self.sequence, [], time.time_ns(), [], 0, "", 0, 0, ""))
        while (self.written or 0) < self.sequence:
            self.written = _wire.read_written(self.read())
        return time.monotonic() - began

    def read(self):
        def exactly(count):
            data = b""
            while len(data) < count:
                part = self.socket.recv(count - len(data))
                if not part:
                    raise ConnectionError
                data += part
            return data
        return exactly(int.from_bytes(exactly(4), "little"))

    def try_log(self, loss):
        """Logs the loss repeatedly until the collector closes the connection, and returns the collector's message."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                self.log(loss)
            except OSError:
                break
            time.sleep(0.1)
        return self.answer()


class AsUser:
    """Runs a function in a child process as the given user."""

    def __init__(self, uid, function, groups=()):
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(reader)
                os.setgroups(list(groups))
                os.setgid(uid)
                os.setuid(uid)
                signal.alarm(90)
                os.write(writer, json.dumps(function()).encode())
                code = 0
            except BaseException as error:  # noqa: B902
                os.write(writer, json.dumps("failed: %r" % error).encode())
            finally:
                os._exit(code)
        os.close(writer)
        self.reader = os.fdopen(reader, "rb")

    def result(self):
        with self.reader as result:
            text = result.read()
        os.waitpid(self.pid, 0)
        return json.loads(text or '"killed"')


def as_user(uid, function, groups=()):
    return AsUser(uid, function, groups).result()


class Training:
    """Process that runs as the given user and logs losses until stop(). SIGTERM ends it."""

    def __init__(self, uid, path, job_id, nan_from=10 ** 9, pid=None):
        stop_reader, self.stop_writer = os.pipe()
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.stop_writer)
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                client = Client(path, job_id, pid=pid)
                os.write(writer, client.said.encode())
                os.close(writer)
                os.set_blocking(stop_reader, False)
                count = 0
                while client.said.startswith("welcome"):
                    count += 1
                    client.log(float("nan") if count >= nan_from else 1.0)
                    time.sleep(0.1)
                    try:
                        if os.read(stop_reader, 1) == b"":
                            client.send(_wire.goodbye("completed"))
                            break
                    except BlockingIOError:
                        pass
            finally:
                os._exit(0)
        os.close(stop_reader)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            self.said = said.read().decode()

    def ended(self):
        """Returns the signal that ended the process, 0 if the process exited, or None if it is still running."""
        child, status = os.waitpid(self.pid, os.WNOHANG)
        if child == 0:
            return None
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0

    def stop(self):
        os.close(self.stop_writer)
        os.waitpid(self.pid, 0)


class Tenants(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-tenants-")
        os.chmod(self.work, 0o755)
        for name in ("run", "drop"):
            os.mkdir(os.path.join(self.work, name), 0o755)
        self.write("rules.yaml", RULES)
        self.pitwall = None
        self.path = os.path.join(self.work, "run", "collector.sock")

    def tearDown(self):
        if self.pitwall:
            self.pitwall.kill()
        shutil.rmtree(self.work)

    def write(self, name, text):
        return write(os.path.join(self.work, name), text)

    def start(self, *flags):
        self.pitwall = Pitwall(BINARY, os.path.join(self.work, "log"), "--config",
                               self.write("c.yaml", CONFIG % {"work": self.work}),
                               "--data-dir", os.path.join(self.work, "data"), *flags)

    def refused(self, reason):
        """Returns how many times the collector has refused regular users' clients for this reason."""
        name = r'pitwall_collector_clients_refused_total\{(?=[^}]*owner="user")(?=[^}]*reason="%s")[^}]*\}' % reason
        from harness import fetch
        import re
        return sum(float(v) for v in re.findall(r"^%s (\S+)$" % name, fetch(self.pitwall.http + "/metrics")[1], re.M))

    def declare(self, job_id, owner, name="declared"):
        self.write("drop/.new", "job_id=%s\nowner=%s\n" % (job_id, owner))
        os.chmod(os.path.join(self.work, "drop", ".new"), 0o644)
        os.rename(os.path.join(self.work, "drop", ".new"), os.path.join(self.work, "drop", name))

    def test_other_user_cannot_join_end_or_kill_job(self):
        self.start()
        victim = Training(ALICE, self.path, "shared")
        self.assertEqual(victim.said, "welcome shared")

        def attack():
            nan_rank = Client(self.path, "shared", rank=1)          # tries to join as a rank that logs NaN
            new_zero = Client(self.path, "shared", rank=0)          # claims rank 0, which would start a new attempt
            goodbye = Client(self.path, hello=False)                # tries to end the job without joining it
            goodbye.send(_wire.goodbye("completed"))
            forged = Client(self.path, "u%d:train:1" % ALICE)       # an ID that looks like the victim's
            return [nan_rank.said, new_zero.said, goodbye.answer(), forged.said]

        said = as_user(MALLORY, attack)
        self.assertTrue(said[0].startswith('other_owner: job "shared" belongs to uid:%d' % ALICE), said)
        self.assertTrue(said[1].startswith("other_owner: "), said)
        self.assertEqual(said[2].split(":")[0], "malformed")
        self.assertTrue(said[3].startswith("other_owner: "), said)
        self.assertEqual(self.refused("other_owner"), 3)
        time.sleep(4)  # longer than the rule and the executor need to act
        self.assertIsNone(victim.ended())
        self.assertEqual(self.pitwall.metric("pitwall_issues_open"), 0)
        self.assertEqual(self.pitwall.metric("pitwall_processor_jobs"), 2)  # the victim's job and node:<name>
        victim.stop()

    def test_only_the_owner_can_request_a_capture(self):
        self.start()
        victim = Training(ALICE, self.path, "private")

        def ask():
            client = Client(self.path, hello=False)
            client.send(_wire.message(5, _wire.string(1, "private")))
            body = client.read()
            fields = dict(_wire.read_fields(body))
            asked = dict(_wire.read_fields(fields[5])) if 5 in fields else {}
            return "requested" if asked.get(1) else "%s: %s" % (_wire.read_refused(body) or ("error", asked))

        said = as_user(MALLORY, ask)
        self.assertTrue(said.startswith('other_owner: job "private" belongs to uid:%d' % ALICE), said)
        self.assertEqual(self.refused("other_owner"), 1)
        self.assertEqual(self.pitwall.metric("pitwall_collector_captures_total"), 0)
        self.assertEqual(as_user(ALICE, ask), "requested")
        wait_for("the capture", lambda: self.pitwall.metric("pitwall_collector_captured_ranks_total") == 1)
        time.sleep(1.1)  # captures are limited to one per second
        self.assertEqual(as_user(0, ask), "requested")  # root may read everything
        victim.stop()

    def test_forged_pid_does_not_stop_another_users_process(self):
        self.start()
        bystander = Training(ALICE, self.path, "bystander")
        # The client claims the PID of the other user's process and then logs NaN.
        liar = Training(MALLORY, self.path, "lies", nan_from=5, pid=bystander.pid)
        self.assertEqual(liar.said, "welcome lies")
        self.assertEqual(wait_for("the executor", lambda: liar.ended()), signal.SIGTERM)
        self.assertIsNone(bystander.ended())
        bystander.stop()

    def test_declaration_displaces_squatter(self):
        self.start()
        reader, writer = os.pipe()

        def squat():
            os.close(reader)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the executor sends SIGTERM to a process that logs NaN
            client = Client(self.path, "slurm-17")
            for _ in range(20):
                client.log(float("nan"))
            os.write(writer, client.said.encode())
            os.close(writer)
            return client.try_log(float("nan"))

        squatter = AsUser(MALLORY, squat)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            self.assertEqual(said.read(), b"welcome slurm-17")
        early = as_user(ALICE, lambda: Client(self.path, "slurm-17").said)
        self.assertTrue(early.startswith("other_owner: "), early)
        # A drop file has no effect if the squatter owns it.
        os.chown(self.write("drop/evil", "job_id=slurm-18\nowner=%d\n" % MALLORY), MALLORY, MALLORY)
        self.declare("slurm-17", ALICE)
        result = squatter.result()
        self.assertTrue(result.startswith('displaced: job "slurm-17"'), result)
        victim = Training(ALICE, self.path, "slurm-17")
        self.assertEqual(victim.said, "welcome slurm-17")
        again = as_user(MALLORY, lambda: Client(self.path, "slurm-17", rank=1).said)
        self.assertIn("belongs to uid:%d (declared on this node)" % ALICE, again)
        wait_for("the processor to return the job to its owner",
                 lambda: self.pitwall.metric("pitwall_processor_jobs_displaced_total") == 1)
        self.assertEqual(self.refused("displaced"), 1)
        self.assertEqual(self.pitwall.metric("pitwall_collector_drop_files_bad_total"), 1)
        time.sleep(3)
        self.assertIsNone(victim.ended(), "the squatter's NaN stopped the owner's process")
        wait_for("the squatter's issues to end", lambda: self.pitwall.metric("pitwall_issues_open") == 0)
        victim.stop()

    def test_silent_connections_affect_only_their_user(self):
        self.start()
        reader, writer = os.pipe()

        def fill():
            os.close(reader)
            clients = [Client(self.path, "mine", rank=i) for i in range(257)]
            said = [client.said.split(":")[0] for client in clients]
            os.write(writer, json.dumps([said.count("welcome mine"), said[-1]]).encode())
            os.close(writer)
            return clients[0].answer()  # the clients send nothing more

        mallory = AsUser(MALLORY, fill)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            self.assertEqual(json.loads(said.read()), [256, "clients_per_owner"])
        other = as_user(ALICE, lambda: Client(self.path, "hers").said)
        self.assertEqual(other, "welcome hers")
        # Real clients send a heartbeat every second, so the collector closes a silent connection.
        result = mallory.result()
        self.assertTrue(result.startswith("idle: "), result)
        self.assertGreaterEqual(self.refused("idle"), 1)
        self.assertEqual(self.refused("clients_per_owner"), 1)

    def test_flooding_user_does_not_delay_other_users(self):
        self.start()
        reader, writer = os.pipe()
        done, finish = os.pipe()

        def flood():
            os.close(reader)
            os.close(finish)
            clients = [Client(self.path, "flood", rank=i) for i in range(8)]
            now = time.time_ns()
            # The clients send both large and tiny updates, because bytes and messages have separate limits.
            large = [_wire.value("train_loss", b"", 1.0, now, 1, "train")] * 1000
            sent, began, sequence = 0, time.monotonic(), 0
            os.write(writer, b"begun")
            for client in clients:
                client.socket.setblocking(False)
            pending = [b""] * len(clients)
            os.set_blocking(done, False)
            while True:
                try:
                    if os.read(done, 1) == b"":
                        break
                except BlockingIOError:
                    pass
                for i, client in enumerate(clients):
                    if not pending[i]:
                        sequence += 1
                        pending[i] = _wire.frame(_wire.update(sequence, large if i % 2 else [], now, [], 0, "", 0, 0, ""))
                        if i % 2 == 0:
                            pending[i] *= 500
                    try:
                        count = client.socket.send(pending[i])
                        sent, pending[i] = sent + count, pending[i][count:]
                    except BlockingIOError:
                        pass
                time.sleep(0.001)
            return [sent, time.monotonic() - began]

        def measure():
            client, delays = Client(self.path, "hers"), []
            for _ in range(60):
                delays.append(client.beat())
            client.send(_wire.goodbye("completed"))
            return [client.said, sorted(delays)[-3]]

        mallory = AsUser(MALLORY, flood)
        os.close(writer)
        os.close(done)
        with os.fdopen(reader, "rb") as begun:
            begun.read(5)
        result = as_user(ALICE, measure)
        self.assertEqual(result[0], "welcome hers")
        self.assertLess(result[1], 2, "seconds until Alice's value was durable")
        wait_for("Alice's job to end with its goodbye", lambda: self.logged('job "hers" ended: completed'), 15)
        self.assertGreater(self.pitwall.metric("pitwall_collector_clients_held_total"), 0)
        os.close(finish)
        sent, seconds = mallory.result()
        # Data in socket buffers counts as sent even though the collector has not read it.
        self.assertLess(sent, (seconds + 2) * 1048576 + 8 * 512 * 1024)
        self.assertEqual(self.refused("idle") + self.refused("malformed"), 0)

    def logged(self, text):
        with open(os.path.join(self.work, "log"), errors="replace") as log:
            return text in log.read()

    def test_job_limit_affects_only_its_user(self):
        self.start()
        reader, writer = os.pipe()
        done, finish = os.pipe()

        def fill():
            os.close(reader)
            os.close(finish)
            clients = [Client(self.path, "m%d" % i) for i in range(65)]
            said = [client.said.split(" ")[0] for client in clients]
            os.write(writer, json.dumps([said.count("welcome"), clients[-1].said]).encode())
            os.close(writer)
            os.read(done, 1)

        mallory = AsUser(MALLORY, fill)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            count, last = json.loads(said.read())
        self.assertEqual(count, 64)
        self.assertTrue(last.startswith("jobs_per_owner: "), last)
        self.assertIn("collector.limits.jobs_per_owner", last)
        self.assertEqual(as_user(ALICE, lambda: Client(self.path, "hers").said), "welcome hers")
        self.declare("declared-too", CAROL)
        wait_for("the drop file", lambda: "declared on this node" in
                 as_user(MALLORY, lambda: Client(self.path, "declared-too").said))
        self.assertEqual(as_user(CAROL, lambda: Client(self.path, "declared-too").said), "welcome declared-too")
        os.close(finish)
        os.close(done)
        mallory.result()

    def test_malformed_hellos_are_rejected_and_counted(self):
        self.start()

        def attack():
            said = [Client(self.path, "a", job="x").said]
            large = Client(self.path, hello=False)
            large.socket.sendall((1 << 20).to_bytes(4, "little") + b"x" * 100)
            said.append(large.answer())
            escape = Client(self.path, hello=False)
            hello = _wire.hello(escape.identity._replace(job_id="jXXXX"), "boot", time.time_ns(), 1)
            escape.send(hello.replace(b"jXXXX", b"j\x1b[2J"))
            said.append(escape.answer())
            garbage = Client(self.path, hello=False)
            garbage.send(b"\xff\xff\xff")
            said.append(garbage.answer())
            return said

        said = as_user(MALLORY, attack)
        self.assertEqual(said[0], "welcome a")
        for answer in said[1:]:
            self.assertTrue(answer.startswith("malformed: "), said)
        self.assertEqual(self.refused("malformed"), 3)
        self.assertNotIn("\x1b", self.pitwall.log())

    def test_socket_is_accessible_only_to_its_group(self):
        self.start("--socket-mode", "0660", "--socket-group", str(GROUP))
        self.assertEqual(as_user(MALLORY, lambda: Client(self.path, "m").said), "no permission")
        self.assertEqual(as_user(ALICE, lambda: Client(self.path, "a").said, groups=[GROUP]), "welcome a")

    def test_socket_in_world_writable_directory_is_rejected(self):
        os.chmod(os.path.join(self.work, "run"), 0o777)
        with self.assertRaises(AssertionError) as raised:
            self.start()
        self.assertIn("the directory is writable by others (mode 0777); run chmod go-w on it", str(raised.exception))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if os.geteuid() != 0:
        print("NOTE: tenants_test.py is skipped because it needs root to run processes as other users")
        sys.exit(77)
    unittest.main(verbosity=2, warnings="ignore")
