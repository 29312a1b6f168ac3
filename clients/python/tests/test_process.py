"""Tests for process start and exit: exit codes, exceptions, signals, forks, and loader workers."""
import os
import signal
import subprocess
import sys
import time
import unittest

import support


class ExitTest(support.ClientTest):
    def reason(self, text, code):
        collector = self.collector()
        done = self.script(text, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        collector.wait_for(lambda c: c.messages("goodbye"))
        collector.close()
        return collector.messages("goodbye")[0]["reason"], done.stderr

    def test_goodbye_contains_exit_reason(self):
        begin = "import pitwall, sys; pitwall.init(job='x'); pitwall.log(loss=1)\n"
        for text, code, reason in (("", 0, "completed"), ("raise ValueError('boom')", 1, "failed"),
                                   ("sys.exit(3)", 3, "failed"), ("sys.exit('no')", 1, "failed"),
                                   ("sys.exit(0)", 0, "completed"), ("sys.exit()", 0, "completed"),
                                   ("raise KeyboardInterrupt", -2, "cancelled"), ("pitwall.finish('')", 0, "")):
            with self.subTest(text=text):
                self.assertEqual(self.reason(begin + text, code)[0], reason)

    def test_failed_process_reports_its_exception(self):
        begin = "import pitwall, sys; pitwall.init(job='x')\n"
        worst = "class Worst(Exception):\n  def __str__(self): raise OSError\n"
        handled = "try: {}['lr']\nexcept KeyError: pitwall.finish('failed', 2)"
        for text, exception in (("raise ValueError('boom\\nof two lines')", "ValueError: boom"), ("raise ValueError", "ValueError"),
                                ("{}['lr']", "KeyError: 'lr'"), (worst + "raise Worst", "Worst"), ("sys.exit(3)", ""),
                                ("raise KeyboardInterrupt", ""), (handled, "KeyError: 'lr'"), ("pitwall.finish('failed', 2)", "")):
            with self.subTest(text=text):
                self.assertEqual(self.goodbye(begin + text)["exception"], exception)
        self.assertEqual(self.goodbye(begin + "raise ValueError('boom')", PITWALL_EXCEPTION_TEXT="0")["exception"], "ValueError")

    def goodbye(self, text, **environment):
        collector = self.collector()
        self.script(text, check=False, **environment)
        collector.wait_for(lambda c: c.messages("goodbye"))
        collector.close()
        return collector.messages("goodbye")[0]

    def test_exit_waits_for_slow_collector(self):
        """Fills the queue with 8 Updates, which is more than the socket buffer can hold. The process must wait while the collector reads them."""
        collector = self.collector(pace=0.4)
        self.script("import pitwall; pitwall.init(job='x')\nfor i in range(16000): pitwall.log(loss=i)")
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual(len(collector.values()), 16000)

    def test_exit_does_not_wait_for_collector_that_never_reads(self):
        collector = self.collector()
        collector.cork()
        done = self.script("import pitwall, time; pitwall.init(job='x')\nfor i in range(16000): pitwall.log(loss=i)\n"
                           "begin = time.monotonic(); pitwall.finish(); print(time.monotonic() - begin)")
        self.assertLess(float(done.stdout), 4.5)

    def test_goodbye_contains_exit_status(self):
        """Checks the exit statuses visible to the client. `raise SystemExit(3)` does not call a hook, so the collector must determine its status."""
        begin = "import os, pitwall, sys; pitwall.init(job='x')\n"
        for text, reason, status in (("sys.exit(3)", "failed", 3), ("sys.exit('no')", "failed", 1), ("os._exit(3)", "", 3),
                                     ("os._exit(0)", "", 0), ("raise SystemExit(3)", "completed", 0)):
            with self.subTest(text=text):
                goodbye = self.goodbye(begin + text)
                self.assertEqual((goodbye["reason"], goodbye["exiting"], goodbye["exit_status"]), (reason, 1, status))
        self.assertEqual(self.goodbye(begin + "pitwall.finish()")["exiting"], 0)

    def test_exception_is_reported_under_replaced_excepthook(self):
        begin = "import pitwall, sys; pitwall.init(job='x')\nsys.excepthook = lambda *_: None\n"
        self.assertEqual(self.goodbye(begin + "{}['lr']")["exception"], "KeyError: 'lr'")

    def test_multiprocessing_workers_send_goodbye(self):
        script = ("import multiprocessing, os, pitwall, sys\n"
                  "def work(end):\n"
                  "  pitwall.init(job='x'); pitwall.log(loss=1)\n"
                  "  if end == 'raise': raise ValueError('boom')\n"
                  "  if end == 'exit': raise SystemExit(3)\n"
                  "  if end == 'wrapped':\n"
                  "    try: raise ValueError('boom')\n"
                  "    except Exception: sys.exit(1)\n"
                  "  if end == 'hidden':\n"
                  "    try: raise ValueError('boom')\n"
                  "    except Exception: raise SystemExit(1) from None\n"
                  "  if end == 'caused':\n"
                  "    try: raise ValueError('boom')\n"
                  "    except Exception: raise SystemExit(1) from KeyError('lr')\n"
                  "if __name__ == '__main__':\n"
                  "  worker = multiprocessing.get_context(sys.argv[1]).Process(target=work, args=sys.argv[2:])\n"
                  "  worker.start(); worker.join(); sys.exit(worker.exitcode)\n")
        path = os.path.join(os.path.dirname(self.path), "workers.py")
        with open(path, "w") as out:
            out.write(script)
        for method in ("fork", "forkserver", "spawn"):
            for end, reason, exception, status in (("return", "completed", "", 0), ("raise", "failed", "ValueError: boom", 1),
                                                   ("exit", "failed", "", 3), ("wrapped", "failed", "ValueError: boom", 1),
                                                   ("hidden", "failed", "", 1), ("caused", "failed", "KeyError: 'lr'", 1)):
                with self.subTest(method=method, end=end):
                    collector = self.collector()
                    done = subprocess.run([sys.executable, path, method, end], capture_output=True, timeout=60,
                                          env={"PYTHONPATH": support.SOURCES, "PITWALL_SOCKET": self.path})
                    self.assertEqual(done.returncode, status, done.stderr)
                    collector.wait_for(lambda c: c.messages("goodbye"))
                    collector.close()
                    goodbye, = collector.messages("goodbye")
                    self.assertEqual((goodbye["reason"], goodbye["exception"]), (reason, exception))
                    self.assertEqual([v["value"] for v in collector.values()], [1])

    def test_module_level_init_is_ignored_in_spawned_workers(self):
        script = ("import multiprocessing, pitwall\npitwall.init(job='x')\n"
                  "def work(): pass\n"
                  "if __name__ == '__main__':\n"
                  "  for method in ('spawn', 'forkserver'):\n"
                  "    worker = multiprocessing.get_context(method).Process(target=work); worker.start(); worker.join()\n")
        path = os.path.join(os.path.dirname(self.path), "module_level.py")
        with open(path, "w") as out:
            out.write(script)
        collector = self.collector()
        done = subprocess.run([sys.executable, path], capture_output=True, timeout=60,
                              env={"PYTHONPATH": support.SOURCES, "PITWALL_SOCKET": self.path})
        self.assertEqual(done.returncode, 0, done.stderr)
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual(len(collector.messages("hello")), 1)

    def test_second_init_ends_the_previous_job(self):
        collector = self.collector()
        self.script("import pitwall; pitwall.init(job='x'); pitwall.init(job='y')\n"
                    "for _ in pitwall.steps(range(2)): pitwall.init(job='z')")
        collector.wait_for(lambda c: len(c.messages("goodbye")) == 4)
        self.assertEqual([goodbye["reason"] for goodbye in collector.messages("goodbye")],
                         ["completed", "cancelled", "cancelled", "completed"])

    def test_thread_exception_is_reported(self):
        collector = self.collector()
        done = self.script("import pitwall, threading; pitwall.init(job='x')\n"
                           "def work(): raise KeyError('lr')\n"
                           "t = threading.Thread(target=work, name='loader'); t.start(); t.join()")
        self.assertIn("KeyError: 'lr'", done.stderr)  # the previous hook still runs
        collector.wait_for(lambda c: c.messages("goodbye"))
        value, = collector.values()
        self.assertEqual(value["metric"], "train_thread_exception")
        self.assertEqual({l["name"]: l["value"] for l in value["labels"]}, {"exception": "KeyError: 'lr'", "thread": "loader"})

    def test_user_excepthook_still_runs(self):
        reason, stderr = self.reason(
            "import pitwall, sys\nsys.excepthook = lambda *a: print('mine', file=sys.stderr)\n"
            "pitwall.init(job='x')\nraise ValueError", 1)
        self.assertEqual(reason, "failed")
        self.assertEqual(stderr, "mine\n")

    def test_last_values_arrive_at_exit(self):
        collector = self.collector()
        self.script("import pitwall; pitwall.init(job='x')\nfor i in range(100): pitwall.log(loss=i)")
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual(len(collector.values()), 100)

    def test_exit_without_collector_is_fast_and_silent(self):
        before = time.monotonic()
        done = self.script("import pitwall; pitwall.init(); pitwall.log(loss=1)")
        self.assertLess(time.monotonic() - before, 5)
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_disabled_client_sends_nothing(self):
        collector = self.collector()
        self.script("import pitwall; pitwall.init(); pitwall.log(loss=1)", PITWALL_DISABLED="1")
        self.assertEqual(collector.connections, [])

    def test_sigterm_loses_at_most_the_last_100_ms(self):
        collector = self.collector()
        process = subprocess.Popen(
            [sys.executable, "-c", "import pitwall, time; pitwall.init()\ni = 0\n"
             "while True: pitwall.log(at=time.time_ns() / 1e9); time.sleep(0.01)"],
            env={"PYTHONPATH": support.SOURCES, "PITWALL_SOCKET": self.path})
        collector.wait_for(lambda c: len(c.values()) > 50)
        process.send_signal(signal.SIGTERM)
        killed = time.time()
        self.assertEqual(process.wait(10), -signal.SIGTERM)
        last = max(v["value"] for v in collector.values())
        self.assertLess(killed - last, 1.0)  # 0.1 s plus a margin for a loaded machine
        self.assertEqual(collector.messages("goodbye"), [])

    def test_client_survives_default_sigpipe_action(self):
        collector = self.collector()
        process = subprocess.Popen(
            [sys.executable, "-c", "import pitwall, signal, time; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
             "pitwall.init()\nwhile True: pitwall.log(x=1); time.sleep(0.001)"],
            env={"PYTHONPATH": support.SOURCES, "PITWALL_SOCKET": self.path})
        for n in range(1, 4):
            collector.wait_for(lambda c, n=n: len(c.messages("hello")) >= n and len(c.connections[-1]) > 2)
            collector.drop_connections()
        self.assertIsNone(process.poll())
        process.terminate()
        process.wait(10)

    def test_client_works_with_over_1024_open_files(self):
        collector = self.collector()
        self.script("import os, resource\n"
                    "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
                    "resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2048) if hard > 0 else 2048, hard))\n"
                    "files = [os.open('/dev/null', os.O_RDONLY) for _ in range(1100)]\n"
                    "import pitwall; pitwall.init(); pitwall.log(loss=1)")
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual(len(collector.values()), 1)


class ForkTest(support.ClientTest):
    def test_forked_child_is_silent_and_does_not_disturb_parent(self):
        collector = self.collector()
        self.script("""
import os, sys, time, pitwall
pitwall.init(job='x')
pitwall.log(parent=1)
time.sleep(0.3)
pid = os.fork()
if pid == 0:
    pitwall.log(child=1)
    with pitwall.phase('forward'): pass
    for _ in pitwall.steps(range(3)): pass
    sys.exit(5)      # runs the exit hooks
_, status = os.waitpid(pid, 0)
assert os.WEXITSTATUS(status) == 5, status
pitwall.log(parent=2)
""")
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual([v["metric"] for v in collector.values()], ["train_parent"] * 2)
        self.assertEqual(len(collector.connections), 1)
        self.assertEqual(collector.messages("goodbye"), [{"reason": "completed", "exception": "", "exiting": 1, "exit_status": 0}])
        self.assertEqual(collector.spans(), [])

    def test_child_that_calls_init_has_its_own_boot(self):
        collector = self.collector()
        self.script("""
import os, sys, time, pitwall
pitwall.init(job='x', rank=0)
pid = os.fork()
if pid == 0:
    pitwall.init(job='x', rank=1)
    pitwall.log(child=1)
    sys.exit(1)
os.waitpid(pid, 0)
""")
        collector.wait_for(lambda c: len(c.messages("goodbye")) == 2)
        hellos = {h["rank"]: h for h in collector.messages("hello")}
        self.assertNotEqual(hellos[0]["boot_id"], hellos[1]["boot_id"])
        self.assertNotEqual(hellos[0]["pid"], hellos[1]["pid"])
        reasons = {c[0][1]["rank"]: m["reason"] for c in collector.connections for n, m, _ in c if n == "goodbye"}
        self.assertEqual(reasons, {0: "completed", 1: "failed"})

    def test_forks_under_load_never_deadlock(self):
        collector = self.collector()
        self.script("""
import os, threading, pitwall
pitwall.init(job='x')
stop = threading.Event()
def work():
    while not stop.is_set():
        with pitwall.phase('forward'): pitwall.log(x=1)
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for i in range(40):
    pid = os.fork()
    if pid == 0:
        pitwall.log(child=1)
        pitwall.finish()
        os._exit(0)
    os.waitpid(pid, 0)
stop.set()
for t in threads: t.join()
pitwall.finish(timeout=20)  # the fake collector reads a full queue more slowly than the exit allows
""")
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertNotIn("train_child", {v["metric"] for v in collector.values()})

    def test_child_exits_inherited_phases_if_lock_was_held(self):
        collector = self.collector()
        self.script("""
import os, signal, sys, threading, pitwall
pitwall.init(job='x')
sys.setswitchinterval(1e-6)  # threads are preempted while they hold the lock
stop = threading.Event()
def work():
    while not stop.is_set():
        with pitwall.phase('hammer'): pass
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for i in range(60):
    with pitwall.step(), pitwall.mode('eval'), pitwall.phase('forward'):
        pid = os.fork()
        if pid == 0:
            signal.alarm(10)  # kills a child that blocks
            sys.exit(7)
        _, status = os.waitpid(pid, 0)
        if status != 7 << 8:
            stop.set()
            sys.exit('child %d ended with %d' % (i, status))
stop.set()
for t in threads: t.join()
sys.setswitchinterval(0.005)  # lets the sender empty a full queue
""")
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual(collector.messages("goodbye"), [{"reason": "completed", "exception": "", "exiting": 1, "exit_status": 0}])

    def test_multiprocessing_pool_is_silent(self):
        collector = self.collector()
        self.script("""
import multiprocessing, pitwall
def work(x):
    pitwall.log(child=x)
    return x
pitwall.init(job='x')
with multiprocessing.get_context('fork').Pool(2) as pool:
    assert pool.map(work, range(10)) == list(range(10))
pitwall.log(parent=1)
""")
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual([v["metric"] for v in collector.values()], ["train_parent"])
        self.assertEqual(len(collector.messages("hello")), 1)

    def test_loader_worker_that_calls_init_stays_silent(self):
        collector = self.collector()
        self.script("""
import sys, types
data = types.ModuleType('torch.utils.data')
data.get_worker_info = lambda: object()
sys.modules['torch.utils.data'] = data
import pitwall
pitwall.init(job='x')
pitwall.log(x=1)
""")
        self.assertEqual(collector.connections, [])


if __name__ == "__main__":
    unittest.main()
