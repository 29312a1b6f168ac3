#!/usr/bin/env python3
"""Tests the collector's sampling through the log. Intervals of 100 ms and 500 ms must be accurate to within 5% for each device. CPU ratios must be
within 2 percentage points of /proc/stat, which the test reads itself under its own load. A new interval must take effect within 5 s of SIGHUP or of
an API request.

The checks use event times and medians, because delays on a busy machine drop ticks but do not shift them. The GPUs come from the fake
NVML. usage: sampling_test.py PITWALL DUMP_SAMPLES FAKE_NVML
"""
import bisect
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

BINARY = DUMP = NVML = None
SECONDS = 12  # duration of a measurement
# Maps each metric to the labels that identify a device.
DEVICES = {"system_cpu_time_seconds_total": "cpu,mode", "system_cpu_utilization_ratio": "cpu,mode", "system_memory_usage_bytes": "state",
           "system_network_io_bytes_total": "device,direction", "system_disk_io_time_seconds_total": "device",
           "hw_gpu_utilization_ratio": "gpu", "hw_power_watts": "gpu"}
# Generates CPU load with one process per core on all cores but one. Each process is busy half of the time.
LOAD = "import time\nwhile True:\n end = time.monotonic() + 0.05\n while time.monotonic() < end: pass\n time.sleep(0.05)"
MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def proc_stat():
    """Returns the current time and {cpu: {mode: seconds since boot}}."""
    ticks = os.sysconf("SC_CLK_TCK")
    cpus = {}
    with open("/proc/stat") as lines:
        for line in lines:
            name, *numbers = line.split()
            if name.startswith("cpu") and name != "cpu":
                cpus[name[3:]] = {mode: int(number) / ticks for mode, number in zip(MODES, numbers)}
    return time.time(), cpus


class Sampling(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pitwall-sampling-")
        self.data = os.path.join(self.folder, "data")
        self.config = os.path.join(self.folder, "pitwall.yaml")
        self.token = harness.write(os.path.join(self.folder, "act"), "a token of the role act, of this test\n")
        shutil.copy(NVML, os.path.join(self.folder, "libnvidia-ml.so.1"))
        self.load = [subprocess.Popen([sys.executable, "-c", LOAD]) for _ in range(max(1, (os.cpu_count() or 2) - 1))]
        self.service = None

    def tearDown(self):
        for process in self.load + ([self.service.process] if self.service else []):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder)

    def start(self, interval):
        self.interval(interval)
        self.service = harness.Pitwall(BINARY, os.path.join(self.folder, "log"), "--data-dir", self.data, "--config", self.config, "--socket",
                                       os.path.join(self.folder, "c.sock"), variables={"LD_LIBRARY_PATH": self.folder})

    def interval(self, text):
        harness.write(self.config + ".new", "http: {act_token_file: %s}\ncollector:\n  interval: %s\n" % (self.token, text))
        os.rename(self.config + ".new", self.config)

    def samples(self, metric):
        """Returns {device: [(event time, value)]}."""
        out = subprocess.run([DUMP, self.data, metric, DEVICES[metric]], capture_output=True, text=True, check=True, timeout=60).stdout
        devices = {}
        for line in out.splitlines():
            head, _, _, at, value, _ = line.rsplit(" ", 5)
            devices.setdefault(head.split(" ")[0], []).append((int(at), float(value)))
        return devices

    def check_interval(self, seconds):
        # A lost tick appears as a gap of two or more intervals. Every gap must be a multiple of the interval, and the median gap must be one
        # interval.
        wanted = round(seconds * 1e9)
        for metric in DEVICES:
            devices = self.samples(metric)
            self.assertTrue(devices, "no samples of " + metric)
            for device, samples in devices.items():
                times = [at for at, _ in samples]
                gaps = [after - before for before, after in zip(times, times[1:])]
                self.assertGreaterEqual(len(gaps), 5, (metric, device))
                median = statistics.median(gaps)
                kept = sum(gaps) and len(gaps) * wanted / sum(gaps)
                self.assertEqual([gap for gap in gaps if gap % wanted], [], (metric, device))
                if kept > 0.6:  # otherwise the machine loses almost half of the ticks, and the median does not reflect the interval
                    self.assertLessEqual(abs(median / wanted - 1), 0.05, (metric, device, median))
                else:
                    self.assertEqual(min(gaps), wanted, (metric, device))
            print("%d ms: %-34s %2d series, median gap %.1f ms, ticks kept %.1f%%"
                  % (seconds * 1000, metric, len(devices), median / 1e6, 100 * kept))

    def check_cpu(self, looks):
        """Compares each mode's CPU share with the share from this test's own reads of /proc/stat. The comparison covers both the counters and the
        ratios, each between the first and the last sample, because the load from other tests may change within half a second."""
        times = [at for at, _ in looks]
        counters = self.samples("system_cpu_time_seconds_total")
        ratios = self.samples("system_cpu_utilization_ratio")
        worst = 0

        def spent(cpu, mode, at):
            after = min(max(1, bisect.bisect_left(times, at)), len(times) - 1)
            (t0, before), (t1, then) = looks[after - 1], looks[after]
            return before[cpu][mode] + (then[cpu][mode] - before[cpu][mode]) * (at - t0) / (t1 - t0)

        for cpu in looks[0][1]:
            for mode in MODES:
                inside = [(at / 1e9, value) for at, value in ratios["%s,%s" % (cpu, mode)] if times[0] < at / 1e9 <= times[-1]]
                began, ended = inside[0][0], inside[-1][0]
                truth = (spent(cpu, mode, ended) - spent(cpu, mode, began)) / sum(spent(cpu, m, ended) - spent(cpu, m, began) for m in MODES)
                ratio = sum(value * (at - inside[i][0]) for i, (at, value) in enumerate(inside[1:])) / (ended - began)
                ends = dict((at / 1e9, value) for at, value in counters["%s,%s" % (cpu, mode)])
                counted = (ends[ended] - ends[began]) / (ended - began)
                for name, ours in (("ratio", ratio), ("counter", counted)):
                    self.assertLessEqual(abs(ours - truth), 0.02,
                                         "CPU %s, mode %s, %s: got %.4f, but /proc/stat has %.4f" % (cpu, mode, name, ours, truth))
                    worst = max(worst, abs(ours - truth))
        print("CPU compared with /proc/stat: maximum difference %.2f percentage points (%d cores, %d modes, %.0f s)"
              % (100 * worst, len(looks[0][1]), len(MODES), times[-1] - times[0]))

    def measure(self, text, seconds):
        self.start(text)
        time.sleep(1)
        looks = [proc_stat()]
        while looks[-1][0] < looks[0][0] + SECONDS:
            time.sleep(0.05)
            looks.append(proc_stat())
        time.sleep(1)
        self.service.stop()
        self.check_interval(seconds)
        self.check_cpu(looks)

    def test_interval_of_100_ms_is_kept(self):
        self.measure("100ms", 0.1)

    def test_interval_of_500_ms_is_kept(self):
        self.measure("500ms", 0.5)

    def test_new_interval_takes_effect_within_5_s(self):
        self.start("500ms")
        time.sleep(2)
        changed = []
        for text, step in (("100ms", 10 ** 8), ("1s", 10 ** 9), ("500ms", 5 * 10 ** 8)):
            self.interval(text)
            changed.append((time.time_ns(), step))
            self.service.process.send_signal(signal.SIGHUP)
            time.sleep(6)
        self.check_changes(changed, "SIGHUP")

    def test_requested_interval_takes_effect_within_5_s(self):
        self.start("500ms")
        self.load.append(harness.train(os.path.join(self.folder, "c.sock"), 100_000, 100_000))
        api = self.service.http + "/api/pitwall/v1"
        with open(self.token) as token:
            acting = {"Authorization": "Bearer " + token.read().strip()}

        def job():
            listed = [one["id"] for one in json.loads(harness.fetch(api + "/jobs?name=e2e")[1])["jobs"]]
            return listed and json.loads(harness.fetch("%s/job?job=%s" % (api, urllib.parse.quote(listed[0])))[1])

        def sampled_each(seconds):
            return lambda: job() and seconds in [source["interval_seconds"] for source in job()["sources"] if source["rank"] is None]
        harness.wait_for("the job's node", sampled_each(0.5))
        changed = []
        for text, step in (("100ms", 10 ** 8), ("1s", 10 ** 9)):
            changed.append((time.time_ns(), step))
            query = urllib.parse.urlencode({"job": job()["id"], "interval": text, "reason": "a closer look"})
            with urllib.request.urlopen(urllib.request.Request("%s/job/interval?%s" % (api, query), method="POST", headers=acting), timeout=10):
                pass
            harness.wait_for("samples every " + text, sampled_each(step / 1e9))
            time.sleep(2.5)  # long enough for a gap of the new interval
        self.check_changes(changed, "POST /job/interval")

    def check_changes(self, changed, how):
        self.service.stop()
        times = sorted({at for samples in self.samples("system_memory_usage_bytes").values() for at, _ in samples})
        gaps = list(zip(times, times[1:]))
        for asked, step in changed:
            first = [after for before, after in gaps if before >= asked and after - before == step]
            self.assertTrue(first, "no gap of %d ms" % (step / 1e6))
            # The first gap of the new length ends one interval after the change.
            seconds = (first[0] - step - asked) / 1e9
            print("interval of %d ms took effect %.2f s after %s" % (step / 1e6, seconds, how))
            self.assertLess(seconds, 5)


if __name__ == "__main__":
    BINARY, DUMP, NVML = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
