"""A Pitwall service in a child process: its start, readiness, health, signals, and log."""
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

READY_S = 60
STOP_S = 60


def wait_for(condition, patience, what):
    """Waits until the condition returns a truthy value, and returns that value. Raises TimeoutError."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise TimeoutError("timed out after %d s waiting for %s" % (patience, what))


def fetch(url, timeout=2):
    """Returns (status, text), or (None, "") if there is no response."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except (OSError, ValueError):
        return None, ""


class Service:
    """A service process. `name` is the service (standalone, collector, …); logs are written to <logs>/<name>-<start>.log."""

    def __init__(self, binary, name, flags, logs, environment):
        self.binary, self.name, self.flags, self.logs = binary, name, list(flags), logs
        self.environment = dict(os.environ, **environment)
        self.process = None
        self.starts = 0
        self.expected_end = True  # true while no process should be running
        self.http = None

    @property
    def pid(self):
        return self.process.pid

    def log_path(self, start=None):
        return os.path.join(self.logs, "%s-%d.log" % (self.name, self.starts if start is None else start))

    def log(self):
        with open(self.log_path(), errors="replace") as lines:
            return lines.read()

    def launch(self, *more):
        """Starts the service without waiting."""
        self.process = self.http = None
        self.starts += 1
        # The service is killed when this process ends, even if this process is killed.
        bound = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        command = bound + [self.binary, self.name] + self.flags + ["--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"]
        with open(self.log_path(), "w") as stderr:
            self.process = subprocess.Popen(command + list(more), stderr=stderr, stdin=subprocess.DEVNULL, env=self.environment)
        self.expected_end = False

    def running(self):
        return self.process is not None and self.process.poll() is None

    def address(self):
        """Returns the base URL of the service, or None if the log does not contain it yet."""
        if self.http is None and self.process is not None:
            match = re.search(r"(http://[\d.]+:\d+)/metrics", self.log())
            self.http = match.group(1) if match else None
        return self.http

    def ready(self):
        address = self.address()
        return bool(address) and fetch(address + "/readyz")[0] == 200

    def wait_ready(self, patience=READY_S, unless=None):
        """Returns True once the service is ready. Returns False if it exits, is not ready in time, or reports health that matches `unless` for a
        second."""
        deadline, since = time.monotonic() + patience, None
        while time.monotonic() < deadline:
            if not self.running():
                return False
            if self.ready():
                return True
            if unless is not None and unless.search(self.health()[1]):
                since = since or time.monotonic()
                if time.monotonic() - since > 1:
                    return False
            time.sleep(0.05)
        return False

    def refusal(self):
        """Stops the service and returns why it is not running or not ready."""
        text = "\n".join([self.health()[1].strip(), self.log()[-1500:]])
        self.kill()
        return text

    def health(self):
        address = self.address() if self.running() else None
        return fetch(address + "/healthz") if address else (None, "")

    def metrics(self):
        """Returns {name and labels: number}, or {} if there is no response."""
        address = self.address() if self.running() else None
        values = {}
        for line in fetch(address + "/metrics")[1].splitlines() if address else ():
            name, _, value = line.rpartition(" ")
            if name and not line.startswith("#"):
                values[name] = float(value)
        return values

    def send(self, number):
        if self.running():
            self.process.send_signal(number)

    def kill(self):
        self.expected_end = True
        if self.running():
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def stop(self, patience=STOP_S):
        """Stops the service cleanly. Returns the exit code, or None if the service did not exit in time and was killed."""
        self.expected_end = True
        if self.process is None:
            return 0
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
