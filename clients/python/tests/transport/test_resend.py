"""Tests for resending data that a collector has not made durable, for counting dropped data, and for clock changes."""
import time
import unittest

from support import ClientTest
import pitwall
from pitwall import _wire
from pitwall._client import client
from pitwall.transport import _clock_step
from pitwall.transport._unwritten import MOST_GIVEN_UP, Unwritten


class ResendTest(ClientTest):
    def sender(self):
        return client.sender

    def test_unconfirmed_updates_are_resent(self):
        first = self.collector(durable=lambda update: update["sequence"] <= 2)
        self.start(first)
        for i in range(5):
            pitwall.log(loss=i)
            first.wait_for(lambda c: len(c.values()) == i + 1)
        first.close()
        other = self.collector(durable=lambda update: True, knows=first.durable_until)
        pitwall.log(loss=5)
        other.wait_for(lambda c: c.values() and c.values()[-1]["value"] == 5.0)
        sequences = [u["sequence"] for u in other.messages("update")]
        self.assertEqual(sequences[0], 3)
        self.assertEqual(sequences, list(range(3, 3 + len(sequences))))
        kept = {u["sequence"]: u for u in first.messages("update")}
        for update in other.messages("update"):
            self.assertEqual(update, kept.get(update["sequence"], update))  # the resent Update is unchanged
        written = [v["value"] for u in first.messages("update") if u["sequence"] <= 2 for v in u["values"]]
        self.assertEqual(written + [v["value"] for v in other.values()], [float(i) for i in range(6)])
        other.wait_for(lambda c: len(self.sender()._unwritten) == 0)
        self.assertEqual(other.messages("update")[-1]["dropped"], 0)

    def test_updates_received_by_collector_are_not_resent(self):
        collector = self.collector(durable=lambda update: True)
        self.start(collector)
        pitwall.log(loss=0)
        collector.wait_for(lambda c: c.values())
        collector.drop_connections()
        pitwall.log(loss=1)
        collector.wait_for(lambda c: len(c.values()) == 2)
        sequences = [u["sequence"] for u in collector.messages("update")]
        self.assertEqual(sequences, sorted(set(sequences)))

    def test_data_lost_above_limit_is_counted(self):
        first = self.collector(durable=lambda update: False)
        self.start(first)
        self.sender()._unwritten._limit = 20000
        for i in range(40):
            pitwall.log(loss=i, labels={"tensor": "x" * 1000})
            first.wait_for(lambda c: len(c.values()) == i + 1)
        first.close()
        other = self.collector(durable=lambda update: True)
        pitwall.log(loss=40)
        with self.assertLogs("pitwall", "WARNING") as logs:
            other.wait_for(lambda c: c.values() and c.values()[-1]["value"] == 40.0)
        dropped = other.messages("update")[-1]["dropped"]
        self.assertGreater(dropped, 10)
        self.assertEqual([v["value"] for v in other.values()], [float(i) for i in range(dropped, 41)])
        self.assertIn("%d spans and values are lost" % dropped, "".join(logs.output))

    def test_collector_of_previous_version_gets_no_duplicates(self):
        first = self.collector()
        self.start(first)
        for i in range(3):
            pitwall.log(loss=i)
            first.wait_for(lambda c: len(c.values()) == i + 1)
        self.assertEqual(len(self.sender()._unwritten), 0)
        first.close()
        other = self.collector()
        pitwall.log(loss=3)
        other.wait_for(lambda c: c.values())
        self.assertEqual([v["value"] for v in other.values()], [3.0])

    def test_client_continues_with_collector_of_previous_version(self):
        first = self.collector(durable=lambda update: False)
        self.start(first)
        pitwall.log(loss=0)
        first.wait_for(lambda c: c.values())
        first.close()
        other = self.collector()
        pitwall.log(loss=1)
        other.wait_for(lambda c: c.values())
        self.assertEqual([v["value"] for v in other.values()], [1.0])

    def test_finish_waits_until_all_data_is_written(self):
        collector = self.collector(durable=lambda update: any(v["value"] == 1.0 for v in update["values"]))
        self.start(collector)
        pitwall.log(loss=0)
        collector.wait_for(lambda c: c.values())
        pitwall.log(loss=1)
        began = time.monotonic()
        pitwall.finish()
        self.assertLess(time.monotonic() - began, 0.9)
        self.assertEqual([v["value"] for v in collector.values()], [0.0, 1.0])

    def test_finish_reports_unconfirmed_data(self):
        collector = self.collector(durable=lambda update: False)
        self.start(collector)
        pitwall.log(loss=0)
        collector.wait_for(lambda c: c.values())
        with self.assertLogs("pitwall", "WARNING") as logs:
            pitwall.finish(timeout=0.3)
            self.sender_thread_ended()
        self.assertIn("1 spans or values may be lost", "".join(logs.output))

    def sender_thread_ended(self):
        import threading
        for thread in threading.enumerate():
            if thread.name == "pitwall":
                thread.join(10)

    def test_client_does_not_follow_backward_clock_jump(self):
        collector = self.collector(durable=lambda update: True)
        self.start(collector)
        pitwall.log(loss=0)
        collector.wait_for(lambda c: c.values())
        with self.assertLogs("pitwall", "WARNING") as logs:
            self.sender()._base += 3600_000_000_000  # simulates wall time set back by an hour
            pitwall.log(loss=1)
            collector.wait_for(lambda c: any(v["metric"] == "pitwall_clock_offset_seconds" for v in c.values()))
        self.assertIn("jumped back by 3600", "".join(logs.output))
        offset = [v for v in collector.values() if v["metric"] == "pitwall_clock_offset_seconds"][0]
        self.assertAlmostEqual(offset["value"], -3600, delta=1)
        self.assertEqual(len(collector.messages("hello")), 1)
        losses = [v["time"] for v in collector.values() if v["metric"] == "train_loss"]
        self.assertEqual(losses, sorted(losses))
        # At this point, the wall clock has caught up.
        self.sender()._base -= 3600_000_000_000
        collector.wait_for(lambda c: [v["value"] for v in c.values()
                                      if v["metric"] == "pitwall_clock_offset_seconds"][-1] == 0.0)
        self.assertEqual(len(collector.messages("hello")), 1)

    def test_45_day_clock_jump_takes_effect_after_hold_time(self):
        collector = self.collector(durable=lambda update: True)
        self.start(collector)
        for sign in (1, -1):
            hellos = len(collector.messages("hello"))
            self.sender()._base -= sign * 45 * 86400 * 10**9  # simulates a jump of wall time
            seen = len(collector.messages("update"))
            for value in range(3):
                pitwall.log(loss=value)
                collector.wait_for(lambda c: len(c.messages("update")) > seen + value)
            self.assertEqual(len(collector.messages("hello")), hellos)
            collector.wait_for(lambda c: self.sender()._clock_step._since_ns is not None)
            self.sender()._clock_step._since_ns -= _clock_step.HOLD_NS  # simulates a minute
            collector.wait_for(lambda c: len(c.messages("hello")) == hellos + 1)
        self.assertEqual(collector.messages("update")[-1]["dropped"], 0)

    def test_new_boot_loses_no_data(self):
        collector = self.collector(durable=lambda update: True)
        self.start(collector)
        pitwall.log(loss=0)
        self.sender()._base -= 5_000_000_000  # simulates a jump ahead of wall time by 5 s
        collector.wait_for(lambda c: len(c.messages("hello")) == 2)
        pitwall.log(loss=1)
        collector.wait_for(lambda c: len(c.values()) == 2)
        self.assertEqual(collector.messages("update")[-1]["dropped"], 0)


class UnwrittenTest(unittest.TestCase):
    def test_discarded_updates_are_bounded_and_counted(self):
        kept = Unwritten(100)
        for sequence in range(1, 21):
            kept.add(sequence, b"x" * 10, 1)
        self.assertEqual(len(kept), 10)
        self.assertEqual(kept.items(), 20)
        kept.written(5)
        self.assertEqual(kept.items(), 15)
        frames, lost = kept.after(8)
        self.assertEqual((len(frames), lost, kept.lost), (10, 2, 2))
        frames, lost = kept.after(15)
        self.assertEqual((len(frames), lost, kept.lost), (5, 0, 2))
        kept.written(20)
        self.assertEqual((len(kept), kept.items(), kept.lost), (0, 0, 2))

    def test_list_of_discarded_updates_is_bounded(self):
        kept = Unwritten(1)
        for sequence in range(5 * MOST_GIVEN_UP):
            kept.add(sequence, b"xx", 1)
        self.assertLessEqual(len(kept._given_up), MOST_GIVEN_UP)
        self.assertEqual(kept.items(), 5 * MOST_GIVEN_UP)
        self.assertEqual(kept.give_up(), 5 * MOST_GIVEN_UP)

    def test_written_message_is_decoded(self):
        self.assertEqual(_wire.read_written(_wire.message(2, _wire.integer(1, 300))), 300)
        self.assertIsNone(_wire.read_written(_wire.message(1, b"")))
