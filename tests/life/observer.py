"""Observer for the services of an era. Records increments of loss counters, changes in /healthz, and unexpected exits.

metrics.jsonl: {"t", "service", "start", "name", "grew"}; health.jsonl: {"t", "service", "start", "status", "text"} at each change; crashes.jsonl:
{"t", "service", "start", "exit", "last"}.
"""
import json
import os
import re
import threading
import time

PERIOD_S = 0.2
# Counters for data that was lost between a client and the log. The engine's counters concern data that is already in the log.
LOSS = re.compile(r"pitwall_collector_(client_drops|client_updates_missed|step_series_dropped|records_dropped|.*lost|.*given_up)"
                  r"\w*(\{|$)|pitwall_log_\w*(damage|lost)\w*")
LATE = re.compile(r'pitwall_processor_dropped_total\{.*reason="late"')  # for the check that other partitions continue while one cannot be written to
NOT_LOSS = re.compile(r"clients_closed|_bytes|ranks?_lost")


class Observer:
    def __init__(self, era, services):
        self.era, self.services = era, services
        self.crashed = []
        self._seen = {}      # (service, start, name) -> number
        self._health = {}    # service -> (start, status, text)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        for name in ("metrics", "health", "crashes"):
            open(os.path.join(era, name + ".jsonl"), "a").close()
        self._thread.start()

    def _write(self, name, record):
        with open(os.path.join(self.era, name + ".jsonl"), "a") as out:
            out.write(json.dumps(record) + "\n")

    def _run(self):
        while not self._over.wait(PERIOD_S):
            self.look()

    def look(self):
        """Polls all services immediately. Must be called before a fault that resets the counters."""
        with self._lock:
            for service in self.services:
                self._look_at(service)

    def _look_at(self, service):
        now = time.monotonic()
        if service.process is None:
            return
        if not service.running():
            exit_code = service.process.returncode
            if not service.expected_end and service.starts not in [c["start"] for c in self.crashed
                                                                   if c["service"] == service.name]:
                crash = {"t": now, "service": service.name, "start": service.starts, "exit": exit_code,
                         "last": service.log()[-1500:]}
                self.crashed.append(crash)
                self._write("crashes", crash)
            return
        for name, value in service.metrics().items():
            if not LATE.match(name) and (not LOSS.match(name) or NOT_LOSS.search(name)):
                continue
            key = service.name, service.starts, name
            before = self._seen.get(key, 0)
            if value > before:
                self._seen[key] = value
                self._write("metrics", {"t": now, "service": service.name, "start": service.starts, "name": name,
                                        "grew": value - before})
        status, text = service.health()
        if status is not None and self._health.get(service.name) != (service.starts, status, text):
            self._health[service.name] = service.starts, status, text
            self._write("health", {"t": now, "service": service.name, "start": service.starts, "status": status,
                                   "text": text.strip()})

    def stop(self):
        self._over.set()
        self._thread.join()
