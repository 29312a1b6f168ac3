"""The system under test in one data directory: `standalone` with the embedded log, or three services with a Kafka broker."""
import json
import os
import re
import subprocess

from process import Service, wait_for
from volumes import Volume, can_mount, keep_and_unmount

PARTITIONS = 3
DATA_MB, PARTITION_MB = 256, 48
# The variant for multiple threads. The other one parses the file without a lock, so a change to the offset may result in an invalid time.
FAKETIME = ("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1")
MAX_RECOVERIES = 3
RECOVERY = re.compile(r"pitwall log (?:repair|check)|--accept-log-reset|--salvage")


def faketime():
    """Returns the path of the library that sets a process's clock, or None if it is not installed."""
    return next((path for path in FAKETIME if os.path.exists(path)), None)


class System:
    """The services of an era. The directory `era` contains everything: rules, configuration, logs, artifacts, and the data directory `data`."""

    def __init__(self, binary, era, url, mount=True, kafka=None):
        self.binary, self.era, self.kafka = binary, era, kafka
        self.data = os.path.join(era, "data")
        self.socket = os.path.join(era, "c.sock")
        self.rules = os.path.join(era, "rules.yaml")
        self.logs = os.path.join(era, "logs")
        self.volumes, self.partition_volumes = [], {}
        self.offsets = {}  # service name -> path of its clock file
        os.makedirs(self.logs, exist_ok=True)
        self.mounting = mount and kafka is None and os.geteuid() == 0 and can_mount(era)
        if self.mounting:
            self.volumes.append(Volume(self.data, DATA_MB))
        os.makedirs(self.data, exist_ok=True)
        self.config = os.path.join(era, "config.yaml")
        log = {"kind": "kafka", "brokers": kafka} if kafka else {"kind": "embedded", "segment_bytes": 262144}
        with open(self.config, "w") as out:
            json.dump({"data_dir": self.data, "log": log, "rules": {"files": [self.rules]},
                       "collector": {"node": "life-node", "interval": "500ms", "socket": self.socket, "gpus": False},
                       "processor": {"partitions": PARTITIONS, "snapshot_interval": "4s"},
                       "notifier": {"webhooks": [{"name": "life", "url": url, "from_start": True, "notify_symptoms": True}]}},
                      out, indent=1)
        names = ("processor", "collector", "notifier") if kafka else ("standalone",)
        self.services = [self._service(name) for name in names]

    def _service(self, name):
        variables, library = {}, faketime()
        if library is not None and not self.kafka:  # with libfaketime, waits in librdkafka never end
            self.offsets[name] = self.clock_file(name)
            variables = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": self.offsets[name], "FAKETIME_NO_CACHE": "1",
                         "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                         "FAKETIME_FORCE_MONOTONIC_FIX": "0"}  # otherwise, all timed waits on the monotonic clock end immediately
        return Service(self.binary, name, ["--config", self.config], self.logs, variables)

    def clock_file(self, name):
        """Creates the file with the wall clock offset of one process. The monotonic clock cannot be set."""
        path = os.path.join(self.era, "clock-" + name)
        self.set_clock(path, 0)
        return path

    @staticmethod
    def set_clock(path, seconds):
        """Sets the offset from the machine's clock. Replaces the file atomically, so readers never see a partial file."""
        with open(path + ".new", "w") as out:
            out.write("%+d\n" % seconds)
        os.rename(path + ".new", path)

    def start(self):
        """Starts the system for the first time. Afterwards, each partition has its own volume."""
        for service in self.services:
            service.launch()
        for service in self.services:
            if not service.wait_ready():
                raise RuntimeError("%s is not ready:\n%s" % (service.name, service.log()[-4000:]))
        if not self.mounting:
            return
        if self.services[0].stop() != 0:
            raise RuntimeError("standalone did not stop cleanly:\n" + self.services[0].log()[-4000:])
        for partition in range(PARTITIONS):
            volume = Volume(self.partition_path(partition), PARTITION_MB)
            self.volumes.append(volume)
            self.partition_volumes[partition] = volume
        self.services[0].launch()
        if not self.services[0].wait_ready():
            raise RuntimeError("standalone is not ready with volumes:\n" + self.services[0].log()[-4000:])

    def partition_path(self, partition, topic="pitwall.telemetry"):
        return os.path.join(self.data, "log", "topics", topic, str(partition))

    def restart_dead(self):
        """Restarts dead services, as a supervisor does. Returns the services that did not become ready."""
        for service in self.services:
            if not service.running():
                service.launch()
        return [s for s in self.services if not s.wait_ready()]

    def quiet(self, patience=60):
        """Waits until /metrics shows that all data has been read, committed, and delivered. Returns False after a timeout."""
        def caught_up():
            for service in self.services:
                values = service.metrics()
                if not values:
                    return False
                waiting = sum(v for k, v in values.items()
                              if k.startswith(("pitwall_processor_lag_records", "pitwall_collector_spool_records",
                                               "pitwall_collector_queue_bytes")))
                if waiting > 12:  # ticks and the node's own frames always cause a small backlog
                    return False
            return True
        try:
            wait_for(caught_up, patience, "the system to catch up")
            return True
        except TimeoutError:
            return False

    def start_with_recovery(self, service):
        """Starts the service. If it refuses to start, follows the instructions in its message. Returns (ready, refusals, actions)."""
        refusals, done = [], []
        service.launch()
        while not service.wait_ready(unless=RECOVERY):
            service.expected_end = True
            refusals.append(service.refusal())
            # The message may recommend an action that was already taken, so each action is taken only once.
            named = [w.replace("log check", "log repair") for w in RECOVERY.findall(refusals[-1])]
            named = next((w for w in named if w not in done), None)
            if named is None or len(done) == MAX_RECOVERIES:
                return False, refusals, done
            done.append(named)
            if named.startswith("pitwall log"):
                repair = subprocess.run([self.binary, "log", "repair", self.data], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, timeout=120)
                with open(os.path.join(self.logs, "repair-%d.log" % service.starts), "w") as out:
                    out.write(repair.stdout)
                service.launch()
            else:
                service.launch(named)
        return True, refusals, done

    def stop(self):
        """Stops the services. Returns {service: exit code}."""
        order = ["collector", "processor", "notifier", "standalone"]
        return {s.name: s.stop() for s in sorted(self.services, key=lambda s: order.index(s.name))}

    def where(self):
        return "kafka:" + self.kafka if self.kafka else self.data

    def record(self, dump):
        """Writes the artifacts that are read from the stopped system: log.jsonl and verify.json."""
        with open(os.path.join(self.era, "log.jsonl"), "w") as out:
            dumped = subprocess.run([dump, self.where()], stdout=out, stderr=subprocess.PIPE, text=True, timeout=300)
        if dumped.returncode != 0:
            with open(os.path.join(self.era, "log.jsonl"), "a") as out:
                out.write(json.dumps({"kind": "bad", "topic": "", "p": -1, "message": dumped.stderr.strip()}) + "\n")
        source = ["--brokers", self.kafka] if self.kafka else ["--input", self.data]
        verified = subprocess.run([self.binary, "backtest", "--verify"] + source, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=300)
        with open(os.path.join(self.era, "verify.json"), "w") as out:
            json.dump({"exit": verified.returncode, "stdout": verified.stdout[-6000:], "stderr": verified.stderr[-6000:]}, out)

    def clean(self, keep):
        for service in self.services:
            service.kill()
        keep_and_unmount(self.volumes, self.data, os.path.join(self.era, "data-kept") if keep else None)
        self.volumes = []


