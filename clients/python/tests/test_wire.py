import math
import os
import random
import re
import shutil
import subprocess
import unittest

import support
from pitwall import _wire
from pitwall._identity import config_hash, identify

PROTO = os.path.normpath(os.path.join(support.TESTS, "..", "..", "..", "proto"))


def naive_varint(value):
    value &= (1 << 64) - 1
    out = []
    while True:
        out.append(value & 0x7F | (0x80 if value >= 0x80 else 0))
        value >>= 7
        if not value:
            return bytes(out)


class VarintTest(unittest.TestCase):
    def test_varint_matches_reference_encoding(self):
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        values = [0, 1, 127, 128, -1, (1 << 63) - 1, 1 << 63] + [1 << b for b in range(64)]
        values += [dice.getrandbits(dice.randrange(1, 65)) for _ in range(2000)]
        for value in values:
            self.assertEqual(_wire.varint(value), naive_varint(value), "seed %d value %d" % (seed, value))
            self.assertEqual(_wire._time(value), naive_varint(value), "seed %d time %d" % (seed, value))

    def test_varint_round_trips(self):
        for value in (0, 1, 300, (1 << 64) - 1):
            self.assertEqual(list(_wire.read_fields(b"\x08" + _wire.varint(value))), [(1, value)])

    def test_malformed_bytes_raise(self):
        for data in (b"\x08", b"\x0a\x05abc", b"\x0b", b"\x09\x01", b"\xff" * 11):
            with self.assertRaises(ValueError):
                list(_wire.read_fields(data))


class StringTest(unittest.TestCase):
    def test_long_and_invalid_strings_are_sanitized(self):
        (_, content), = _wire.read_fields(_wire.string(3, "ä" * 2000))
        self.assertEqual(content.decode("utf-8"), "ä" * (_wire.MAX_STRING // 2))
        (_, content), = _wire.read_fields(_wire.string(3, "a\ud800b"))
        self.assertEqual(content, b"a?b")
        (_, content), = _wire.read_fields(_wire.string(3, "a\n\x7f\0b"))
        self.assertEqual(content, b"a???b")

    def test_cache_is_bounded(self):
        for i in range(10000):
            _wire.string(1, "name-%d" % i)
        self.assertLessEqual(len(_wire._strings), 4097)


@unittest.skipUnless(shutil.which("protoc"), "no protoc on this machine")
class ProtocTest(unittest.TestCase):
    """Tests that protoc decodes our encoding correctly."""

    def decode(self, body, message="ClientMessage"):
        done = subprocess.run(["protoc", "-I", PROTO, "--decode=pitwall.client.v1." + message,
                               "pitwall/client/v1/client.proto"], input=body, stdout=subprocess.PIPE, check=True)
        return done.stdout.decode("utf-8")

    def encode(self, text, message):
        return subprocess.run(["protoc", "-I", PROTO, "--encode=pitwall.client.v1." + message,
                               "pitwall/client/v1/client.proto"], input=text.encode("utf-8"), stdout=subprocess.PIPE,
                              check=True).stdout

    def test_local_rank_is_used_as_rank_on_first_node(self):
        for env, rank in (({"LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2"}, 1), ({"LOCAL_RANK": "1"}, 1),
                          ({"LOCAL_RANK": "1", "RANK": "9", "NODE_RANK": "1"}, 9), ({"LOCAL_RANK": "1", "NODE_RANK": "1"}, 0), ({}, 0)):
            with self.subTest(env=env):
                self.assertEqual(identify(env).rank, rank)

    def test_hello_is_decoded_by_protoc(self):
        env = {"SLURM_JOB_ID": "17", "SLURM_CLUSTER_NAME": "alps", "SLURM_JOB_PARTITION": "gpu", "SLURM_PROCID": "300",
               "SLURM_LOCALID": "4", "SLURM_NTASKS": "512", "PITWALL_ATTEMPT": "0", "SLURM_RESTART_COUNT": "2",
               "PITWALL_JOB_START": "1700000000.5", "PITWALL_NAMESPACE": "ns", "PITWALL_JOB": "größer"}
        text = self.decode(_wire.hello(identify(env, labels={"team": "vision"}), "b0", 1700000000123456789, 4711))
        for line in ("protocol: 1", 'job_id: "alps-17"', "job_start_unix_ns: 1700000000500000000", "rank: 300",
                     "local_rank: 4", "world_size: 512", "attempt: 0", 'boot_id: "b0"',
                     "start_unix_ns: 1700000000123456789", "pid: 4711", 'platform: "slurm"', 'cluster: "alps"',
                     'namespace: "ns"', 'kind: "Job"', 'uid: "17"', 'queue: "gpu"', 'name: "slurm_restart_count"',
                     'value: "2"', 'name: "team"', 'value: "vision"'):
            self.assertIn(line, text)
        self.assertRegex(text, r'job_name: "gr\\303\\266\\303\\237er"')
        self.assertRegex(text, r'client: "pitwall-python/\d')
        self.assertIsNone(re.search(r"^\s*\d+:", text, re.M), "unknown fields in:\n" + text)

    def test_hello_without_environment_is_small(self):
        text = self.decode(_wire.hello(identify({}, job="x"), "b", 5, 6))
        self.assertNotIn("attempt", text)
        self.assertNotIn("platform", text)
        self.assertIn("world_size: 1", text)

    def test_update_is_decoded_by_protoc(self):
        time = 1700000000123456789
        items = [_wire.span(_wire.KIND_STEP, "step", time, 20_000_000, 18, "train"),
                 _wire.span(_wire.KIND_PHASE, "forward", 7, 0, 0, ""),
                 _wire.value("train_loss", _wire.labels(2, [("tensor", "w"), ("layer", "")]), math.inf, time, 18, "eval"),
                 _wire.value("train_x", b"", -0.0, 1, 0, "")]
        text = self.decode(_wire.update(9, items, time + 1, [("eval", 0), ("train", 17)], 3, "backward", time, 18, "train"))
        for part in ("kind: SPAN_KIND_STEP", "start_unix_ns: %d" % time, "duration_ns: 20000000", "step_plus_one: 18",
                     "kind: SPAN_KIND_PHASE", "start_unix_ns: 7", 'metric: "train_loss"', "value: inf", "value: -0",
                     'name: "tensor"', "sequence: 9", "promise_unix_ns: %d" % (time + 1), "below_step: 17",
                     "dropped: 3", 'phase: "backward"', "phase_since_unix_ns: %d" % time):
            self.assertIn(part, text)
        self.assertEqual(text.count("spans {"), 2)
        self.assertEqual(text.count("step_promises {"), 2)
        self.assertIsNone(re.search(r"^\s*\d+:", text, re.M), "unknown fields in:\n" + text)

    def test_encoding_matches_protobuf(self):
        """Checks that fields are in canonical order and that no field is superfluous: protobuf re-encodes our bytes, and the result must be
        identical."""
        dice = random.Random(20240)
        items = []
        for _ in range(50):
            items.append(_wire.span(dice.choice((1, 2)), "p%d" % dice.randrange(3), dice.getrandbits(62) + 1,
                                    dice.getrandbits(dice.randrange(1, 40)) + 1, dice.getrandbits(30), "train"))
        for _ in range(50):
            items.append(_wire.value("train_loss", _wire.labels(2, [("a", "b" * dice.randrange(300))]),
                                     dice.random() + 0.1, dice.getrandbits(62) + 1, dice.getrandbits(9), "eval"))
        body = _wire.update(1, items, 5, [("train", 3)], 0, "", 0, 0, "")
        self.assertEqual(self.encode(self.decode(body), "ClientMessage"), body)

    def test_goodbye_is_decoded_by_protoc(self):
        self.assertIn('reason: "failed"', self.decode(_wire.goodbye("failed")))
        self.assertNotIn("exception", self.decode(_wire.goodbye("failed")))
        text = self.decode(_wire.goodbye("failed", "KeyError: a\x1b" + "x" * 300))
        self.assertIn('exception: "KeyError: a?' + "x" * 188 + '"', text)

    def test_welcome_is_decoded(self):
        body = self.encode('welcome { node: "n1" job_id: "j" source: "n1/3" }', "CollectorMessage")
        self.assertEqual(_wire.read_welcome(body), {"node": "n1", "job_id": "j", "source": "n1/3"})


class IdentityTest(unittest.TestCase):
    def test_arguments_override_the_environment(self):
        identity = identify({"RANK": "3", "PITWALL_JOB": "a", "PITWALL_JOB_ID": "1"}, job="b", rank=0, job_id="2", attempt=7)
        self.assertEqual((identity.rank, identity.job_name, identity.job_id, identity.attempt), (0, "b", "2", 7))

    def test_identity_reads_torchrun_and_kubernetes_variables(self):
        identity = identify({"RANK": "9", "LOCAL_RANK": "1", "WORLD_SIZE": "16", "TORCHELASTIC_RESTART_COUNT": "2",
                             "KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAMESPACE": "train", "PITWALL_JOB_UID": "u-1",
                             "PITWALL_KIND": "PyTorchJob", "PITWALL_LABELS": "team=a, stage=1,broken"})
        self.assertEqual((identity.rank, identity.local_rank, identity.world_size), (9, 1, 16))
        self.assertEqual((identity.platform, identity.namespace, identity.kind, identity.uid, identity.job_id),
                         ("kubernetes", "train", "PyTorchJob", "u-1", "u-1"))
        self.assertIsNone(identity.attempt)
        self.assertEqual(dict(identity.labels), {"team": "a", "stage": "1", "torchelastic_restart_count": "2"})

    def test_equal_configurations_have_equal_hashes(self):
        first = config_hash({"lr": 0.1, "layers": (1, 2), "model": {"b": 1, "a": None}})
        self.assertRegex(first, "^[0-9a-f]{12}$")
        self.assertEqual(first, config_hash({"model": {"a": None, "b": 1}, "layers": [1, 2], "lr": 0.1}))
        self.assertNotEqual(first, config_hash({"model": {"a": None, "b": 1}, "layers": [1, 2], "lr": 0.2}))
        self.assertEqual(config_hash({"tags": {"a", "b"}, "data": object()}), config_hash({"tags": {"b", "a"}, "data": object()}))
        self.assertNotEqual(config_hash({1: None, "1": 2}), config_hash({"1": None, 1: 2}))
        self.assertEqual(config_hash({"dtype": complex(1, 2), 3: "\udcff"}), config_hash({3: "\udcff", "dtype": complex(1, 2)}))

    def test_invalid_variables_are_ignored(self):
        identity = identify({"RANK": "minus one", "WORLD_SIZE": "²", "PITWALL_JOB_START": "yesterday",
                             "PITWALL_ATTEMPT": "-1"})
        self.assertEqual((identity.rank, identity.world_size, identity.job_start_unix_ns), (0, 1, 0))
        self.assertIsNone(identity.attempt)

    def test_long_names_are_truncated(self):
        identity = identify({}, job="ä" * 1000, job_id="i" * 1000)
        self.assertEqual((identity.job_name, identity.job_id), ("ä" * 100, "i" * 200))

    def test_job_start_is_parsed_in_seconds_or_nanoseconds(self):
        for text, nanoseconds in (("1700000000", 1700000000 * 10**9), ("1700000000123456789", 1700000000123456789),
                                  ("nan", 0), ("-5", 0), ("1e300", 0)):
            self.assertEqual(identify({"PITWALL_JOB_START": text}).job_start_unix_ns, nanoseconds, text)


if __name__ == "__main__":
    unittest.main()
