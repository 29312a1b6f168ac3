"""One era of a data directory: a system under load with a fault every few seconds, a quiet end, and the artifacts.

A fault that damages the disk ends its era, so that its consequences are judged separately.
"""
import json
import os
import time

from damage import Damage
from edits import Editor
from faults import Broker, Clock, Descriptors, DiskFull, Edit, Kill, Liar, Partition, Pause
from load import Load
from observer import Observer
from system import System

KINDS = {f.kind: f for f in (Kill, Pause, Edit, Damage, DiskFull, Descriptors, Clock, Partition, Liar)}
SETTLE_S = (0.8, 1.6)  # seconds between two faults
QUIET_S = 45           # maximum seconds until issues of ended jobs end; a job ends 5 s after a Goodbye, and ticks may pause for 15 s
BEFORE_END_S = 3


class Life:
    def __init__(self, binary, folder, receiver, random, mount=True, kafka=None):
        os.makedirs(folder)
        self.folder, self.random, self.receiver = folder, random, receiver
        receiver.path = os.path.join(folder, "webhooks.jsonl")
        self.faults, self.notes = [], []
        self.load = self.observer = None
        self.system = System(binary, folder, receiver.url, mount, kafka)
        self.editor = Editor(self.system.rules, random)

    def begin(self):
        self.system.start()
        self.observer = Observer(self.folder, self.system.services)
        self.load = Load(self.folder, self.system.socket, self.random, self.system.clock_file)
        era = os.path.basename(self.folder)
        for number, world in enumerate((2, 2, 1)):
            self.load.start_job("%s-job-%d" % (era, number), world)
        self.load.tend()
        self.begun = time.monotonic()
        self._rest(2.5)

    def let_pass(self, age):
        """Waits until the era is this many seconds old."""
        self._rest(self.begun + age - time.monotonic())

    def _rest(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.load.tend()
            time.sleep(0.1)

    def usable(self, kind):
        return self.fault_class(kind).usable(self)

    def fault_class(self, kind):
        return Broker if kind == "partition" and self.system.kafka else KINDS[kind]

    def strike(self, kind):
        """Applies one fault and waits until the system is healthy again. Returns False if the system did not recover."""
        fault = self.fault_class(kind)(self)
        record = {"kind": kind, "began": time.monotonic(), "what": fault.what}
        self.faults.append(record)
        fault.apply()
        self._rest(fault.lasts())
        fault.heal()
        record["healed"] = time.monotonic()
        # Processes killed by the fault are restarted, as a supervisor would do. The observer has recorded their ends.
        self.observer.look()
        sick = self.system.restart_dead()
        record["ready"] = time.monotonic()
        record["sick"] = {s.name: s.health()[1].strip() or s.log()[-800:] for s in sick}
        self._rest(self.random.uniform(*SETTLE_S))
        return not sick

    def end(self, dump):
        """Ends the jobs, waits until all data has arrived, stops the system, and reads its results."""
        alive = all(s.running() for s in self.system.services)
        if alive:
            self._rest(BEFORE_END_S)
            self.load.finish()
        else:
            self.load.stop()
        self.load.write()
        quiet = alive and self.system.quiet()
        if alive:
            self._wait_for_ends()
        last = {s.name: {"health": s.health(), "metrics": s.metrics()} for s in self.system.services}
        self.observer.look()
        if alive:
            self._wait_for_webhooks()
        stopped = self.system.stop() if alive else {}
        self.observer.stop()
        self._write("faults.jsonl", self.faults)
        with open(os.path.join(self.folder, "end.json"), "w") as out:
            json.dump({"quiet": quiet, "last": last, "stopped": stopped, "notes": self.notes,
                       "kafka": self.system.kafka is not None}, out, indent=1)
        self.system.record(dump)

    def _wait_for_ends(self):
        """Waits until /metrics shows no open issue, or until a timeout. The checker then reports issues that are still open."""
        deadline = time.monotonic() + QUIET_S
        time.sleep(6)  # longer than the 5 s after which a completed job ends
        while time.monotonic() < deadline:
            open_issues = [v for s in self.system.services for k, v in s.metrics().items() if k.startswith("pitwall_issues_open")]
            if not sum(open_issues):
                return
            time.sleep(0.5)

    def _wait_for_webhooks(self):
        """Waits until no delivery has arrived for 2.5 seconds."""
        seen, since, deadline = -1, time.monotonic(), time.monotonic() + 40
        while time.monotonic() < deadline and time.monotonic() - since < 2.5:
            count = len(self.receiver.ids())
            if count != seen:
                seen, since = count, time.monotonic()
            time.sleep(0.25)

    def _write(self, name, records):
        with open(os.path.join(self.folder, name), "w") as out:
            for record in records:
                out.write(json.dumps(record) + "\n")

    def close(self, keep):
        if self.observer is not None:
            self.observer.stop()
        if self.load is not None:
            self.load.stop()
        self.system.clean(keep)
