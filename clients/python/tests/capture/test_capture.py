"""Tests for file-based profile requests: the conditions under which a file is accepted, and one request end to end."""
import json
import logging
import os
import unittest

from framework_support import CallbackTest

import pitwall
from pitwall import _guard
from pitwall.capture import _capture
from pitwall._identity import identify


class RequestsTest(unittest.TestCase):
    def setUp(self):
        import tempfile
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "c.sock.capture")
        self.asked = []
        self._request = _capture._profile.request
        _capture._profile.request = lambda recorder, steps, tools=None: self.asked.append((steps, tools))
        self.requests = _capture.Requests(identify({}, job="demo", rank=3))
        _guard._logged.clear()

    def tearDown(self):
        import shutil
        _capture._profile.request = self._request
        shutil.rmtree(self.folder)

    def write(self, content, mode=0o644, later=0):
        temporary = self.path + ".new"
        with open(temporary, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        os.chmod(temporary, mode)
        now = self.requests._begin + 1 + later
        os.utime(temporary, ns=(now, now))
        os.rename(temporary, self.path)

    def look(self):
        self.asked.clear()
        self.requests.look(os.path.join(self.folder, "c.sock"), "job-1", None)
        return list(self.asked)

    def refused(self, words):
        with self.assertLogs("pitwall", logging.DEBUG) as log:
            self.assertEqual(self.look(), [])
        self.assertIn(words, log.output[-1])
        self.assertIn(self.path, log.output[-1])

    def test_request_id_is_accepted_once(self):
        self.assertEqual(self.look(), [])
        self.write({"id": "a", "job": "demo"})
        self.assertEqual(self.look(), [(2, None)])
        self.assertEqual(self.look(), [])
        self.write({"id": "a", "job": "demo"}, later=5)
        self.assertEqual(self.look(), [])
        self.write({"id": "b", "job": "job-1", "steps": 5, "tools": ["python"], "ranks": [1, 3]}, later=6)
        self.assertEqual(self.look(), [(5, ["python"])])

    def test_request_for_other_processes_is_ignored(self):
        for number, request in enumerate(({"id": "a", "job": "other"}, {"id": "b", "job": "demo", "ranks": [0]},
                                          {"id": "c", "job": "demo", "ranks": []})):
            self.write(request, later=number)
            self.assertEqual(self.look(), [])

    def test_request_older_than_process_is_ignored(self):
        self.write({"id": "a", "job": "demo"}, later=-10)
        self.assertEqual(self.look(), [])

    def test_invalid_file_is_rejected_with_reason(self):
        for number, (content, words) in enumerate((
                ("{", "Expecting property name"), ("[]", "must be a JSON object"), ({"job": "demo"}, "id must be a string"),
                ({"id": "a"}, "job must be a string"), ({"id": "a", "job": "demo", "steps": 11}, "from 1 to 10"),
                ({"id": "a", "job": "demo", "steps": True}, "from 1 to 10"),
                ({"id": "a", "job": "demo", "ranks": 3}, "list of ranks"),
                ({"id": "a", "job": "demo", "trace_dir": "/"}, "unknown key 'trace_dir'"), (" " * 70000, "at most"))):
            _guard._logged.clear()
            self.write(content, later=number)
            self.refused(words)
            self.assertEqual(self.look(), [])  # the file is reread only after a change

    def test_file_writable_by_others_is_rejected(self):
        self.write({"id": "a", "job": "demo"}, 0o666)
        self.refused("writable only by its owner")
        os.rename(self.path, self.path + ".real")
        os.symlink(self.path + ".real", self.path)
        self.requests._begin = 0
        self.refused("symbolic link")
        os.unlink(self.path)
        os.mkfifo(self.path)
        self.refused("must be a regular file")
        if os.geteuid() == 0:
            os.unlink(self.path)
            self.write({"id": "a", "job": "demo"}, later=9)
            os.chown(self.path, 12345, -1)
            self.refused("(got user 12345)")


class CaptureTest(CallbackTest):
    def test_request_profiles_steps_from_next_step(self):
        with pitwall.step():
            pass
        temporary = self.path + ".new"
        with open(temporary, "w") as file:
            json.dump({"id": "i1", "job": "demo", "steps": 1, "tools": "python"}, file)
        os.rename(temporary, self.path + ".capture")
        # The client checks about twice a second, so the test cannot predict the profiled step.
        number = 1
        while not [v for v in self.fake.values() if v["metric"] == "train_operator_seconds"] and number < 100:
            updates = len(self.fake.messages("update"))
            with pitwall.step():
                sorted(range(1000), key=str)
            self.fake.wait_for(lambda c: len(c.messages("update")) > updates)
            number += 1
        values = self.sent()
        steps = {v[3] for v in values if v[0] == "train_operator_seconds"}
        self.assertEqual(len(steps), 1)
        self.assertGreaterEqual(min(steps), 1)
