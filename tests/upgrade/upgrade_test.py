#!/usr/bin/env python3
"""Tests this version with data from earlier versions (tests/upgrade/data). It must continue with that data, and clearly reject formats that it cannot
read.
usage: upgrade_test.py PITWALL DUMP_TOPIC DUMP_SAMPLES"""
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import unittest
from collections import Counter

import kept
from kept import harness

NAMES = sorted(os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(kept.DATA, "*", "expected.json")))


class KeptRecordings(unittest.TestCase):
    binary = dump_topic = dump_samples = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.data = os.path.join(self.folder, "data")
        self.receiver = kept.Receiver()
        self.service = None

    def tearDown(self):
        if self.service:
            self.service.kill()
        self.receiver.close()
        shutil.rmtree(self.folder)

    def unpack(self, name):
        with tarfile.open(os.path.join(kept.DATA, name, "data.tar.xz")) as tar:
            tar.extractall(self.folder)
        return kept.load_json(os.path.join(kept.DATA, name, "expected.json"))

    def values(self, topic):
        done = subprocess.run([self.dump_topic, self.data, topic], stdout=subprocess.PIPE, check=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def numbers(self, job):
        done = subprocess.run([self.dump_samples, self.data, "train_number_" + job], stdout=subprocess.PIPE, check=True,
                              text=True)
        return sorted(float(line.split()[-2]) for line in done.stdout.splitlines())

    def start(self, **options):
        self.service = kept.start(self.binary, self.folder, self.receiver, **options)

    def test_recording_of_current_or_previous_format_exists(self):
        now = self.format_now()
        formats = [int(name.split("-")[1]) for name in NAMES]
        self.assertTrue({now, now - 1} & set(formats),
                        "snapshot format %d: record this version as described in tests/upgrade/data/README.md" % now)

    def test_service_continues_with_earlier_data(self):
        for name in NAMES:
            with self.subTest(name):
                self.goes_on(name)

    @staticmethod
    def format_now():
        with open(os.path.join(harness.REPO, "services", "engine", "shard.h")) as header:
            return int(re.search(r"kSnapshotJob = (\d+);", header.read()).group(1))

    def goes_on(self, name):
        expected = self.unpack(name)
        # This collector delivers the data that another collector spooled without a broker.
        for lane in os.listdir(os.path.join(self.folder, "spool")):
            if os.path.isdir(os.path.join(self.folder, "spool", lane)):
                shutil.move(os.path.join(self.folder, "spool", lane), os.path.join(self.data, "spool", lane))
        told_before = [event["id"] for event in self.values("pitwall.issues")]
        self.assertEqual(sorted(told_before), sorted(expected["events"]))
        self.start()
        recovered = re.findall(r"committed offset (\d+), replaying from (\d+), jobs restored: (\d+)", self.service.log())
        self.assertEqual(len(recovered), 2, self.service.log())
        self.assertGreaterEqual(sum(int(jobs) for _, _, jobs in recovered), expected["jobs"], "restored from snapshots")
        for committed, begin, _ in recovered:
            self.assertTrue(int(begin) > 0 or int(committed) < 5, "a rebuild from the log's start: %s" % recovered)
        self.assertEqual(self.service.metric("pitwall_processor_rebuilt_jobs"), 0)
        harness.wait_for("the spooled data", lambda: len(set(self.numbers("spooled"))) == expected["steps"]["spooled"])
        harness.wait_for("its own state", lambda: self.service.metric("pitwall_processor_commits_total") > 10)
        self.assertEqual(self.service.stop(), 0, self.service.log())
        for job, steps in expected["steps"].items():
            self.assertEqual(self.numbers(job), [float(n) for n in range(steps)], job)
        self.check_events(told_before)
        self.assertEqual(set(self.receiver.ids) & set(expected["delivered"]), set(), "sent again")
        actions = Counter((a["data"]["issue"], a["type"], a["data"].get("mode")) for a in self.values("pitwall.actions"))
        self.assertTrue(actions)
        self.assertEqual([a for a, count in actions.items() if count > 1], [])
        verify = subprocess.run([self.binary, "backtest", "--format", "log", "--input", self.data, "--verify"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # An earlier version may have worded the same issue differently. --verify then reports the location and fails for no other reason.
        self.assertIn(verify.returncode, (0,) if name == "format-%d" % self.format_now() else (0, 1), verify.stderr)

    def check_events(self, told_before):
        """Checks that no reported event is missing or repeated, and that each issue's events form a chain from its first event."""
        events = self.values("pitwall.issues")
        ids = Counter(event["id"] for event in events)
        self.assertEqual([i for i, count in ids.items() if count > 1], [])
        self.assertLessEqual(set(told_before), set(ids))
        chains = {}
        for event in events:
            data = event["data"]
            if not event["type"].startswith("io.pitwall.issue."):
                continue
            key = (data["job"]["id"], data["rule"], json.dumps(data["labels"], sort_keys=True), data["active_since"])
            chains.setdefault(key, []).append((int(data["sequence"]), event["type"].split(".")[-1]))
        self.assertTrue(chains)
        for key, chain in chains.items():
            self.assertEqual([sequence for sequence, _ in chain], list(range(chain[0][0], chain[0][0] + len(chain))), key)
            self.assertEqual(chain[0][1], "found", key)
        running = [chain for key, chain in chains.items() if key[0].endswith("kept-running") and "LossHigh" in key[1]]
        self.assertTrue(running)

    def refusal(self, pattern, *changes):
        """Returns the startup error after replacing each `old` with `new` in the matching files of the newest recording."""
        self.unpack(NAMES[-1])
        before = self.patch(pattern, changes)
        config = harness.write(os.path.join(self.folder, "config.yaml"), kept.CONFIG.format(
            data=self.data, rules=kept.RULES, port=self.receiver.port))
        done = subprocess.run([self.binary, "standalone", "--config", config, "--http-listen", "127.0.0.1:0",
                               "--grpc-listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True, timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 2, done.stderr)
        for path, content in before.items():
            with open(path, "rb") as file:
                self.assertEqual(file.read(), content, "%s was changed" % path)
        return done.stderr

    def patch(self, pattern, changes):
        changed = {}
        for path in glob.glob(os.path.join(self.data, pattern)):
            with open(path, "rb") as file:
                content = file.read()
            for old, new in changes:
                content = content.replace(old, new)
            with open(path, "wb") as file:
                file.write(content)
            changed[path] = content
        self.assertTrue(changed)
        return changed

    def test_commit_journal_of_later_version_is_rejected(self):
        said = self.refusal("log/commits/*.journal", (b"PWJRN002", b"PWJRN003"), (b"PWF1", b"PWF2"))
        self.assertRegex(said, r"\.journal: commit journal has format 3")
        self.assertRegex(said, r"reads 1 and 2\); use the version that wrote it")

    def test_segments_of_another_format_are_rejected(self):
        said = self.refusal("log/topics/pitwall.telemetry/*/*.seg", (b"PWSEG001", b"PWSEG002"), (b"PWB1", b"PWB2"))
        self.assertRegex(said, r"pitwall\.telemetry/\d/0+\.seg at byte 16: no batch header at this position.*pitwall log check")

    def test_spool_of_later_version_is_rejected(self):
        said = self.refusal("spool/*/*.spool", (b"PWSPOOL2", b"PWSPOOL3"))
        self.assertRegex(said, r"\.spool: unsupported spool format 3 \(this version reads 1 and 2\); run the version that wrote it")

    def test_client_of_another_protocol_is_rejected(self):
        """Tests protocol 0 and a later protocol."""
        with open(os.path.join(kept.DATA, NAMES[-1], "client.bytes"), "rb") as said:
            hello = said.read()
        size = int.from_bytes(hello[:4], "little")
        hello = hello[:4 + size]
        at = hello.index(b"\x08\x01")  # protocol = 1
        self.start()
        for protocol in (0, 2):
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(harness.PATIENCE)
                client.connect(os.path.join(self.data, "collector.sock"))
                client.sendall(hello[:at + 1] + bytes((protocol,)) + hello[at + 2:])
                reply = client.recv(4096)
            self.assertIn(b"protocol must be 1 (got %d)" % protocol, reply)

    def test_messages_from_earlier_client_are_accepted(self):
        for name in NAMES:
            with self.subTest(name), open(os.path.join(kept.DATA, name, "client.bytes"), "rb") as said:
                expected = kept.load_json(os.path.join(kept.DATA, name, "expected.json"))
                shutil.rmtree(self.data, ignore_errors=True)
                self.start()
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(os.path.join(self.data, "collector.sock"))
                    client.sendall(said.read())
                    harness.wait_for("its samples", lambda: len(self.numbers("wire")) >= expected["steps"]["wire"])
                self.assertEqual(self.service.stop(), 0)
                self.assertEqual(self.numbers("wire"), [float(n) for n in range(expected["steps"]["wire"])])


if __name__ == "__main__":
    KeptRecordings.binary, KeptRecordings.dump_topic, KeptRecordings.dump_samples = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
