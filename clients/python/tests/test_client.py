"""Tests for the client with a fake collector in the same process."""
import asyncio
import math
import random
import threading
import time
import unittest

import support
import pitwall
from fake_collector import broken_promises


def goodbye(reason):
    """Returns the Goodbye of a process that continues to run afterwards."""
    return {"reason": reason, "exception": "", "exiting": 0, "exit_status": 0}


class StreamTest(support.ClientTest):
    def test_hello_is_sent_first_and_welcome_is_received(self):
        collector = self.collector()
        self.start(collector, job="resnet", rank=3, labels={"team": "vision"})
        collector.wait_for(lambda c: c.messages("update") and pitwall.info())
        (first, hello, _) = collector.connections[0][0]
        self.assertEqual(first, "hello")
        self.assertEqual((hello["protocol"], hello["job_name"], hello["rank"]), (1, "resnet", 3))
        self.assertLess(abs(hello["start"] - time.time_ns()), 60e9)
        self.assertEqual(pitwall.info(), {"node": "node-a", "job_id": "resnet", "source": "node-a/3"})

    def test_training_loop_is_sent_completely(self):
        collector = self.collector()
        self.start(collector)
        for batch in pitwall.steps([10, 11, 12]):
            with pitwall.phase("forward"):
                pass
            pitwall.log(loss=batch / 10, train_accuracy=0.5)
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        spans = [(s["kind"], s["name"], s["step_plus_one"], s["mode"]) for s in collector.spans()]
        self.assertEqual(spans, [s for n in (1, 2, 3) for s in (
            (2, "dataloader", n, "train"), (2, "forward", n, "train"), (1, "step", n, "train"))])
        values = [(v["metric"], v["value"], v["step_plus_one"]) for v in collector.values()]
        self.assertEqual(values, [v for n in (1, 2, 3) for v in (
            ("train_loss", (9 + n) / 10, n), ("train_accuracy", 0.5, n))])
        last = collector.messages("update")[-1]
        self.assertEqual(last["step_promises"], [{"mode": "train", "below_step": 3}])
        self.assertEqual(collector.messages("goodbye"), [goodbye("completed")])
        self.assertEqual(broken_promises([m[:2] for m in collector.connections[0]]), [])

    def test_loss_trend_logged_before_loop_belongs_to_first_step(self):
        collector = self.collector()
        self.start(collector)
        pitwall.log(learning_rate=0.1)
        pitwall.log(loss_trend=0)
        for _ in pitwall.steps([1, 2]):
            pitwall.log(loss=1)
        pitwall.log(loss_trend=1)
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual([(v["metric"], v["step_plus_one"]) for v in collector.values()],
                         [("train_learning_rate", 0), ("train_loss_trend", 1), ("train_loss", 1), ("train_loss", 2), ("train_loss_trend", 2)])
        self.assertEqual(broken_promises([m[:2] for m in collector.connections[0]]), [])

    def test_sequence_numbers_start_at_one(self):
        collector = self.collector()
        self.start(collector)
        collector.wait_for(lambda c: len(c.messages("update")) >= 3)
        sequences = [u["sequence"] for u in collector.messages("update")]
        self.assertEqual(sequences, list(range(1, len(sequences) + 1)))

    def test_client_sends_heartbeats_while_training_hangs(self):
        collector = self.collector()
        self.start(collector)
        hang = threading.Event()

        def training():
            for _ in pitwall.steps([1]):
                with pitwall.phase("collective"):
                    hang.wait(30)

        thread = threading.Thread(target=training)
        thread.start()
        collector.wait_for(lambda c: sum(u["phase"] == "collective" for u in c.messages("update")) >= 5)
        hang.set()
        thread.join()
        updates = [(m, at) for n, m, at in collector.connections[0] if n == "update" and m["phase"] == "collective"]
        gaps = [b[1] - a[1] for a, b in zip(updates, updates[1:])]
        self.assertLess(max(gaps), 1.0)
        promises = [m["promise"] for m, _ in updates]
        self.assertEqual(promises, sorted(set(promises)))
        self.assertEqual({(m["step_plus_one"], m["mode"]) for m, _ in updates}, {(1, "train")})
        self.assertEqual(len({m["phase_since"] for m, _ in updates}), 1)

    def test_data_does_not_wait_for_heartbeat(self):
        collector = self.collector()
        self.start(collector)
        waits = []
        for i in range(9):
            before = time.monotonic()
            pitwall.log(loss=i)
            collector.wait_for(lambda c, n=i: len(c.values()) > n)
            waits.append(time.monotonic() - before)
        self.assertLess(sorted(waits)[4], 0.2, waits)  # the median, because a loaded machine may delay some of them

    def test_special_values_are_sent_and_invalid_values_skipped(self):
        collector = self.collector()
        self.start(collector)
        pitwall.log(a=math.nan, b=math.inf, c=-math.inf, d=True, e=3, f="not a number", g=None, h=[1], i="7")
        pitwall.log({"val/acc@1": 1.0, "": 2.0, 7: 3.0}, labels={"tensor": "fc.weight"})
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        values = {v["metric"]: v for v in collector.values()}
        self.assertTrue(math.isnan(values["train_a"]["value"]))
        self.assertEqual([values["train_" + n]["value"] for n in "bcdei"], [math.inf, -math.inf, 1.0, 3.0, 7.0])
        self.assertEqual(set(values), {"train_" + n for n in ("a", "b", "c", "d", "e", "i", "val_acc_1", "7")})
        self.assertEqual(values["train_7"]["labels"], [{"name": "tensor", "value": "fc.weight"}])

    def test_interleaved_modes_count_their_own_steps(self):
        collector = self.collector()
        self.start(collector)
        for i, _ in enumerate(pitwall.steps(range(4))):
            if i % 2:
                with pitwall.mode("eval"):
                    for _ in pitwall.steps(range(2)):
                        pass
                    pitwall.log(accuracy=0.5)
            pitwall.log(loss=1.0)
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        steps = [(s["mode"], s["step_plus_one"]) for s in collector.spans() if s["kind"] == 1]
        self.assertEqual(steps, [("train", 1), ("eval", 1), ("eval", 2), ("train", 2), ("train", 3), ("eval", 3),
                                 ("eval", 4), ("train", 4)])
        evals = [(s["mode"], s["step_plus_one"]) for s in collector.spans() if s["name"] == "eval"]
        self.assertEqual(evals, [("train", 2), ("train", 4)])
        self.assertEqual([(v["metric"], v["mode"], v["step_plus_one"]) for v in collector.values()][1:3],
                         [("train_accuracy", "eval", 2), ("train_loss", "train", 2)])
        self.assertEqual(broken_promises([m[:2] for m in collector.connections[0]]), [])

    def test_mode_without_with_block_persists(self):
        collector = self.collector()
        self.start(collector)
        pitwall.mode("eval")
        pitwall.log(loss=1, step=5)
        pitwall.mode("train")
        pitwall.log(loss=1, step=7)
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual([(v["mode"], v["step_plus_one"]) for v in collector.values()], [("eval", 6), ("train", 8)])

    def test_decorators_time_sync_and_async_functions(self):
        collector = self.collector()
        self.start(collector)

        @pitwall.phase("forward")
        def forward(x, y=2):
            """Doc."""
            return x + y

        @pitwall.phase("backward")
        async def backward():
            await asyncio.sleep(0)
            return 9

        self.assertEqual((forward(1), forward(1, y=5), asyncio.run(backward()), forward.__doc__), (3, 6, 9, "Doc."))
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual([s["name"] for s in collector.spans()], ["forward", "forward", "backward"])

    def test_last_step_counts_if_it_recorded_data(self):
        collector = self.collector()
        self.start(collector)
        for i, _ in enumerate(pitwall.steps(range(10))):
            if i == 2:
                break  # an empty step
            pitwall.log(loss=i)
        for i, _ in enumerate(pitwall.steps(range(10))):
            pitwall.log(loss=i)
            if i == 1:
                break  # leaves the loop at the end of its body
        with self.assertRaises(KeyError):
            with pitwall.step():
                raise KeyError("in training")
        with pitwall.step():
            pass
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual([s["step_plus_one"] for s in collector.spans() if s["kind"] == 1], [1, 2, 3, 4, 5])

    def test_steps_resume_and_roll_back(self):
        collector = self.collector()
        self.start(collector)
        list(pitwall.steps(range(3), start=1000))
        collector.wait_for(lambda c: any(p["below_step"] == 1002 for u in c.messages("update") for p in u["step_promises"])
                           or len([s for s in c.spans() if s["kind"] == 1]) == 3)
        list(pitwall.steps(range(3), start=500))
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual([s["step_plus_one"] - 1 for s in collector.spans() if s["kind"] == 1],
                         [1000, 1001, 1002, 500, 501, 502])
        self.assertEqual(broken_promises([m[:2] for m in collector.connections[0]]), [])


class TroubleTest(support.ClientTest):
    def test_client_without_collector_does_not_log(self):
        self.start()
        for _ in pitwall.steps(range(50)):
            with pitwall.phase("forward"):
                pitwall.log(loss=1)
        before = time.monotonic()
        pitwall.finish()
        self.assertLess(time.monotonic() - before, 1.0)

    def test_calls_before_init_and_after_finish_are_no_ops(self):
        for _ in range(2):
            pitwall.log(loss=1)
            self.assertEqual(list(pitwall.steps([1, 2])), [1, 2])
            with pitwall.phase("x"), pitwall.step(), pitwall.mode("eval"):
                pass
            self.assertEqual(pitwall.info(), {})
            pitwall.finish()
            self.start()
            pitwall.finish()

    def test_late_collector_receives_queued_data(self):
        self.start()
        for i in range(5):
            pitwall.log(loss=i)
        collector = self.collector()
        collector.wait_for(lambda c: len(c.values()) == 5)

    def test_client_survives_collector_restart(self):
        collector = self.collector()
        self.start(collector)
        pitwall.log(loss=0)
        collector.wait_for(lambda c: c.values())
        collector.close()
        pitwall.log(loss=1)
        other = self.collector()
        other.wait_for(lambda c: c.values())
        self.assertEqual(other.connections[0][0][0], "hello")
        self.assertEqual(other.messages("hello")[0]["boot_id"], collector.messages("hello")[0]["boot_id"])
        self.assertEqual([v["value"] for v in other.values()], [1.0])
        self.assertGreater(other.messages("update")[0]["sequence"], collector.messages("update")[-1]["sequence"])
        history = [m[:2] for c in (collector, other) for m in c.connections[0]]
        self.assertEqual(broken_promises(history), [])

    def test_back_pressure_fills_queue_and_drops_new_data(self):
        collector = self.collector()
        self.start(collector, queue=500)
        collector.wait_for(lambda c: c.messages("update"))
        collector.cork()
        labels = {"tensor": "x" * 1000}
        for i in range(3000):  # 3 MB, which exceeds the socket buffer
            pitwall.log(loss=i, labels=labels)
            if i % 100 == 0:
                time.sleep(0.02)
        self.assertLessEqual(self.recorder().pending(), 500)
        collector.uncork()
        collector.wait_for(lambda c: c.messages("update")[-1]["dropped"] > 0 and len(c.values())
                           + c.messages("update")[-1]["dropped"] == 3000)
        numbers = [v["value"] for v in collector.values()]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(broken_promises([m[:2] for m in collector.connections[0]]), [])

    def test_long_queue_is_split_into_several_updates(self):
        self.start(queue=10000)
        for i in range(5000):
            pitwall.log(loss=i)
        collector = self.collector()
        collector.wait_for(lambda c: len(c.values()) == 5000)
        self.assertGreaterEqual(len([u for u in collector.messages("update") if u["values"]]), 3)
        self.assertEqual(broken_promises([m[:2] for m in collector.connections[0]]), [])

    def test_client_reconnects_after_malformed_message(self):
        import socket
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.path)
        listener.listen(4)
        listener.settimeout(10)
        self.start()
        for garbage in (b"\xff\xff\xff\xff", b"\x03\x00\x00\x00\x0a\x7f\x01"):
            connection, _ = listener.accept()
            connection.sendall(garbage)
            connection.close()
        connection, _ = listener.accept()  # the client reconnected after both messages
        connection.close()
        listener.close()

    def test_rejecting_collector_is_retried_at_growing_intervals(self):
        import socket
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.path)
        listener.listen(64)
        listener.settimeout(0.05)
        self.start()
        tries, end = 0, time.monotonic() + 2
        while time.monotonic() < end:
            try:
                listener.accept()[0].close()
                tries += 1
            except socket.timeout:
                pass
        listener.close()
        self.assertGreaterEqual(tries, 2)
        self.assertLessEqual(tries, 6)  # expected after 0, 0.1, 0.3, 0.7, and 1.5 s, not every 0.1 s

    def test_rejection_reason_is_logged_once(self):
        import socket
        from pitwall import _wire
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self.path)
        listener.listen(64)
        listener.settimeout(10)
        refused = _wire.frame(_wire.message(3, _wire.string(1, "other_owner")
                                            + _wire.string(2, 'job "j": it belongs to uid:1')))
        with self.assertLogs("pitwall", "WARNING") as logs:
            self.start()
            for read_first in (True, False, False):
                connection, _ = listener.accept()
                if read_first:
                    connection.recv(65536)
                connection.sendall(refused)
                connection.close()  # while the Hello is unread, so the client's next write fails
            listener.accept()[0].close()  # the client reconnected
        listener.close()
        self.assertEqual(len(logs.output), 1, logs.output)
        self.assertIn('(other_owner): job "j": it belongs to uid:1; training continues without monitoring', logs.output[0])

    def test_invalid_modes_and_reasons_are_replaced(self):
        collector = self.collector()
        self.start(collector)
        pitwall.mode("")
        with pitwall.step():
            pass
        pitwall.finish("bored")
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual(collector.messages("goodbye"), [goodbye("")])
        self.assertEqual({p["mode"] for u in collector.messages("update") for p in u["step_promises"]}, {"train"})

    def test_forward_clock_jump_starts_new_boot(self):
        collector = self.collector()
        self.start(collector)
        pitwall.log(loss=0)
        collector.wait_for(lambda c: c.values())
        from pitwall._client import client
        client.sender._base -= 5_000_000_000  # simulates a forward jump of wall time by 5 s
        collector.wait_for(lambda c: len(c.messages("hello")) == 2)
        pitwall.log(loss=1)
        collector.wait_for(lambda c: len(c.values()) == 2)
        hellos = collector.messages("hello")
        self.assertNotEqual(hellos[0]["boot_id"], hellos[1]["boot_id"])
        self.assertEqual(collector.connections[1][1][1]["sequence"], 1)
        self.assertLess(abs(collector.values()[1]["time"] - time.time_ns()), 2e9)
        self.assertEqual(collector.messages("goodbye"), [])

    def test_second_init_starts_new_boot(self):
        collector = self.collector()
        self.start(collector)
        self.start(collector)
        boots = {h["boot_id"] for h in collector.messages("hello")}
        self.assertEqual(len(boots), 2)
        self.assertEqual(collector.messages("goodbye"), [goodbye("completed")])

    def test_errors_in_arguments_do_not_propagate(self):
        collector = self.collector()
        self.start(collector)

        class Nasty:
            def __str__(self):
                raise RuntimeError("str")

            __repr__ = __str__

            def __float__(self):
                raise RuntimeError("float")

            def __int__(self):
                raise RuntimeError("int")

        with self.assertNoLogs():
            pitwall.log(loss=Nasty())
            pitwall.log({Nasty(): 1.0})
            pitwall.log(loss=1, step=Nasty())
            pitwall.log(loss=1, labels={"a": Nasty()})
            pitwall.log(loss=1, labels=5)
            pitwall.log(5)
            with pitwall.step(Nasty()), pitwall.step(-7), pitwall.step(1 << 80):
                pass
            with pitwall.phase(Nasty()):
                pass
            with pitwall.mode(Nasty()):
                pass
            self.assertEqual(list(pitwall.steps([1], start="x")), [1])
            pitwall.init(job=Nasty())
            pitwall.init(queue="many")
            pitwall.init(labels=3)
            pitwall.finish(reason=Nasty())
            pitwall.finish(timeout="x")

    def assertNoLogs(self):
        """Returns a context that fails on any log record except debug messages and advice on an invalid call. unittest has assertNoLogs only since
        Python 3.10."""
        import logging
        test = self

        class Watch(logging.Handler):
            def emit(self, record):
                advice = record.levelno == logging.WARNING and "; " in record.getMessage() and not record.exc_info
                if record.levelno > logging.DEBUG and not advice:
                    test.fail("logged: " + record.getMessage())

            def __enter__(self):
                logging.getLogger("pitwall").addHandler(self)

            def __exit__(self, *_):
                logging.getLogger("pitwall").removeHandler(self)

        return Watch()

    def test_loader_errors_propagate(self):
        def loader():
            yield 1
            raise ValueError("of the loader")

        self.start()
        seen = []
        with self.assertRaisesRegex(ValueError, "of the loader"):
            for batch in pitwall.steps(loader()):
                seen.append(batch)
        self.assertEqual(seen, [1])
        with self.assertRaises(TypeError):
            iter(pitwall.steps(5)).__next__()
        self.assertEqual(len(pitwall.steps([1, 2, 3])), 3)
        self.assertFalse(hasattr(pitwall.steps(loader()), "__len__"))


class ManyThreadsTest(support.ClientTest):
    def test_promises_hold_with_concurrent_threads(self):
        collector = self.collector()
        self.start(collector, queue=100000)
        seed = random.randrange(1 << 32)
        stop = time.monotonic() + 2

        def work(number):
            dice = random.Random(seed + number)
            while time.monotonic() < stop:
                with pitwall.phase("checkpoint"):
                    pitwall.log(loss=dice.random(), step=dice.choice((None, dice.randrange(100))))
                time.sleep(dice.random() * 1e-3)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        while time.monotonic() < stop:
            for _ in pitwall.steps(range(20)):
                with pitwall.phase("forward"):
                    time.sleep(1e-4)
        for thread in threads:
            thread.join()
        pitwall.finish()
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertGreater(len(collector.values()), 100)
        self.assertEqual(broken_promises([m[:2] for m in collector.connections[0]]), [], "seed %d" % seed)
        self.assertEqual(collector.messages("update")[-1]["dropped"], 0)


if __name__ == "__main__":
    unittest.main()
