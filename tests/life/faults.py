"""Faults to inject. Each fault has apply(), a duration, and heal().

A fault receives the life (era.py) and fills in `what`, which is written to faults.jsonl. A fault is not `usable` if it needs a permission that this
machine does not grant; the run reports such faults.
"""
import os
import resource
import signal

from liar import lie
from process import wait_for

READY_S = 60
PATIENCE = 30


class Fault:
    kind = ""

    def __init__(self, life):
        self.life, self.random = life, life.random
        self.what = {}

    @classmethod
    def usable(cls, life):
        return True

    def lasts(self):
        return self.random.uniform(1.0, 2.5)

    def service(self):
        service = self.random.choice(self.life.system.services)
        self.what["service"] = service.name
        return service

    def apply(self):
        raise NotImplementedError

    def heal(self):
        """Undoes the fault. The life then waits until the system is ready."""


class Kill(Fault):
    """kill -9 of a service or of a rank."""

    kind = "kill"

    def lasts(self):
        return self.random.uniform(0, 1.0)

    def apply(self):
        ranks = self.life.load.lasting()
        self.rank = self.random.choice(ranks) if ranks and self.random.random() < 0.3 else None
        if self.rank is not None:
            self.what["rank"] = self.rank.record["journal"]
            self.life.load.kill(self.rank)
            return
        service = self.service()
        self.life.observer.look()
        service.kill()

    def heal(self):
        if self.rank is not None:
            self.life.load.start_again(self.rank)


class Pause(Fault):
    """SIGSTOP of a service or of a rank."""

    kind = "pause"

    def lasts(self):
        return self.random.uniform(1.5, 4.0)

    def apply(self):
        ranks = self.life.load.lasting()
        self.rank = self.random.choice(ranks) if ranks and self.random.random() < 0.3 else None
        self.paused = self.service() if self.rank is None else None
        if self.rank is not None:
            self.what["rank"] = self.rank.record["journal"]
            self.rank.process.send_signal(signal.SIGSTOP)
        else:
            self.paused.send(signal.SIGSTOP)

    def heal(self):
        if self.rank is not None:
            self.rank.process.send_signal(signal.SIGCONT)
        else:
            self.paused.send(signal.SIGCONT)


class Edit(Fault):
    """SIGHUP after a random edit to the rules."""

    kind = "hup"

    def apply(self):
        names = ("standalone", "processor")
        service = next(s for s in self.life.system.services if s.name in names)
        self.what.update(self.life.editor.edit(), service=service.name)
        before = len(service.log())
        service.send(signal.SIGHUP)

        def answered():
            return not service.running() or any(
                word in service.log()[before:] for word in ("becomes active", "rules have not changed", "nothing has changed"))
        try:
            wait_for(answered, PATIENCE, "an answer to SIGHUP")
        except TimeoutError:
            self.what["unanswered"] = True
        if "nothing has changed" in service.log()[before:]:
            self.what["refused"] = service.log()[before:][-400:]


class DiskFull(Fault):
    """A full data directory that does not accept another byte, or a file size limit if the test is not allowed to mount."""

    kind = "disk_full"

    def lasts(self):
        return self.random.uniform(1.5, 3.0)

    def apply(self):
        volumes = self.life.system.volumes
        self.limited = None
        if volumes and self.random.random() < 0.6:
            self.what["by"] = "tmpfs"
            for volume in volumes:
                volume.fill()
            return
        self.what["by"] = "RLIMIT_FSIZE"
        self.limited = next(s for s in self.life.system.services if s.name in ("standalone", "collector"))
        self.what["service"] = self.limited.name
        self.pid = self.limited.pid
        self.before = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (4096, self.before[1]))

    def heal(self):
        for volume in self.life.system.volumes:
            volume.free()
        if self.limited is not None and self.limited.running() and self.limited.pid == self.pid:
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, self.before)


class Descriptors(Fault):
    """Descriptor exhaustion: the limit is lowered to the number of open descriptors plus at most two."""

    kind = "descriptors"

    def lasts(self):
        return self.random.uniform(1.5, 3.0)

    def apply(self):
        self.starved = self.service()
        self.pid = self.starved.pid
        self.before = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        spare = self.random.choice((0, 0, 1, 2))
        limit = len(os.listdir("/proc/%d/fd" % self.pid)) + spare
        self.what["limit"] = limit
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (limit, self.before[1]))

    def heal(self):
        if self.starved.running() and self.starved.pid == self.pid:
            resource.prlimit(self.pid, resource.RLIMIT_NOFILE, self.before)


class Clock(Fault):
    """A jump in one process's wall clock, followed by a jump back. The monotonic clock continues."""

    kind = "clock"

    @classmethod
    def usable(cls, life):
        return bool(life.system.offsets) or life.system.kafka is not None

    def apply(self):
        ranks = self.life.load.lasting()
        jump = self.random.choice((3, 20, 45, 7200, -3, -20, -45, -7200))
        if ranks and (not self.life.system.offsets or self.random.random() < 0.4):
            rank = self.random.choice(ranks)
            self.file, self.what["rank"] = rank.clock, rank.record["journal"]
        else:
            self.file = self.life.system.offsets[self.service().name]
        self.what["jump"] = jump
        self.life.system.set_clock(self.file, jump)

    def heal(self):
        self.life.system.set_clock(self.file, 0)


class Partition(Fault):
    """A telemetry partition that cannot be written to because its file system is full."""

    kind = "partition"

    @classmethod
    def usable(cls, life):
        return bool(life.system.partition_volumes)

    def lasts(self):
        return self.random.uniform(2.0, 5.0)

    def apply(self):
        number = self.random.choice(sorted(self.life.system.partition_volumes))
        self.volume = self.life.system.partition_volumes[number]
        self.what["partition"] = number
        self.volume.fill()

    def heal(self):
        self.volume.free()


class Liar(Fault):
    """A misbehaving client on the socket: it sends malformed, oversized, or contradictory data, or runs under another UID."""

    kind = "liar"

    def apply(self):
        jobs = sorted({r.record["job"] for r in self.life.load.lasting()})
        job = self.random.choice(jobs) if jobs else "nobody"
        self.what.update(lie(self.life.system.socket, job, self.random))


class Broker(Fault):
    """A Kafka broker that is paused for a while."""

    kind = "partition"

    @classmethod
    def usable(cls, life):
        return life.system.kafka is not None and "PITWALL_TEST_KAFKA_DIR" in os.environ

    def lasts(self):
        return self.random.uniform(2.0, 4.0)

    def apply(self):
        with open(os.path.join(os.environ["PITWALL_TEST_KAFKA_DIR"], "pid")) as text:
            self.pid = int(text.read())
        self.what["broker"] = "paused"
        os.kill(self.pid, signal.SIGSTOP)

    def heal(self):
        os.kill(self.pid, signal.SIGCONT)
