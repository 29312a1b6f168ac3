#!/usr/bin/env python3
"""Tests pack:derive and pack:fleet with a real node_exporter (Debian's prometheus-node-exporter) and real faults on this machine. Run it manually or
in a `--long` stage: it takes nine minutes and needs root.

real_node.py BINARY [--keep FILE]

Three quiet minutes are followed by six with faults: a file system (tmpfs) that fills step by step, a process that the kernel kills at its cgroup
limit, and a link that loses packets (a small token bucket behind a bridge). Expected alerts: DiskFull, OomKill, and Retransmit, each on the node and
only after the fault starts. The exporter runs in its own network namespace, so that its TCP counters cover only the link. The machine may have other
real load. Other issues are printed, but count as failures only in the three quiet minutes. The test does not cover CPU steal, which a machine cannot
cause itself, or real storage stalls that block all tasks.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from exposition import Scraper

QUIET, FAULTY, INTERVAL = 180, 360, 5
ADDRESS, PEER = "10.213.7.2", "10.213.7.3"
SENDER = ("import socket\ns=socket.create_connection(('%s',5201))\nwhile True: s.sendall(b'x'*65536)" % PEER)
SINK = ("import socket\nl=socket.create_server(('%s',5201))\nwhile True:\n c,_=l.accept()\n while c.recv(1<<16): pass" % PEER)
GREEDY = "x=[]\nwhile True: x.append(bytearray(b'x'*(1<<20)))"


def sh(*command, check=True):
    return subprocess.run(command, check=check, capture_output=not check)


class Machine:
    """A test environment of two network namespaces on a bridge, a small tmpfs, and a cgroup of 64 MB."""

    def __init__(self, folder):
        self.disk = os.path.join(folder, "disk")
        self.group = next((path for path in ("/sys/fs/cgroup/memory/pitwall-real", "/sys/fs/cgroup/pitwall-real")
                           if os.path.isdir(os.path.dirname(path)) and os.path.exists(os.path.join(os.path.dirname(path), "cgroup.procs"))), None)
        self.processes = []

    def __enter__(self):
        os.mkdir(self.disk)
        sh("mount", "-t", "tmpfs", "-o", "size=100m", "pitwall-real", self.disk)
        sh("ip", "link", "add", "pwbr", "type", "bridge")
        sh("ip", "addr", "add", "10.213.7.1/24", "dev", "pwbr")
        sh("ip", "link", "set", "pwbr", "up")
        for name, address in (("pwx", ADDRESS), ("pwy", PEER)):
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", name + "0", "type", "veth", "peer", "name", name + "1", "netns", name)
            sh("ip", "link", "set", name + "0", "master", "pwbr", "up")
            sh("ip", "netns", "exec", name, "ip", "addr", "add", address + "/24", "dev", name + "1")
            for device in ("lo", name + "1"):
                sh("ip", "netns", "exec", name, "ip", "link", "set", device, "up")
        # Each segment is a separate packet, because the bucket would otherwise drop a whole burst.
        sh("ip", "netns", "exec", "pwx", "ip", "link", "set", "pwx1", "gso_max_segs", "1")
        if self.group:
            os.makedirs(self.group, exist_ok=True)
            limit = "memory.limit_in_bytes" if "/memory/" in self.group else "memory.max"
            with open(os.path.join(self.group, limit), "w") as out:
                out.write(str(64 << 20))
        # By default, the exporter includes tmpfs.
        self.start("ip", "netns", "exec", "pwx", "prometheus-node-exporter", "--web.listen-address=%s:9100" % ADDRESS,
                   "--collector.filesystem.mount-points-exclude=^/(dev|proc|sys|mnt)($|/)")
        self.start("ip", "netns", "exec", "pwy", sys.executable, "-c", SINK)
        time.sleep(2)
        self.start("ip", "netns", "exec", "pwx", sys.executable, "-c", SENDER)
        sh("tc", "qdisc", "add", "dev", "pwy0", "root", "tbf", "rate", "40mbit", "burst", "64k", "limit", "4m")
        return self

    def start(self, *command):
        self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def lose_packets(self):
        sh("tc", "qdisc", "change", "dev", "pwy0", "root", "tbf", "rate", "8mbit", "burst", "4k", "limit", "5k")

    def kill_one(self):
        enter = "echo $$ > %s/cgroup.procs; exec %s -c \"%s\"" % (self.group, sys.executable, GREEDY)
        sh("sh", "-c", enter, check=False)

    def fill(self, megabytes):
        with open(os.path.join(self.disk, "data"), "ab") as out:
            out.write(b"x" * (megabytes << 20))

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        sh("umount", self.disk, check=False)
        for name in ("pwx", "pwy"):
            sh("ip", "link", "del", name + "0", check=False)
            sh("ip", "netns", "del", name, check=False)
        sh("ip", "link", "del", "pwbr", check=False)
        if self.group:
            try:
                os.rmdir(self.group)
            except OSError:
                pass


def record(machine, path):
    """Records the scrapes and returns the start time of the faults."""
    scraper = Scraper({"instance": "real:9100", "job": "node", "pitwall_job": "real"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    begin = time.time()
    filled = killed = 0
    with open(path, "w", encoding="utf-8") as out:
        while time.time() - begin < QUIET + FAULTY:
            since = time.time() - begin - QUIET
            if since >= 0:
                if not killed:
                    machine.lose_packets()
                if since >= 60 * killed:
                    machine.kill_one()
                    killed += 1
                while filled < min(98, 60 + since / 5):
                    machine.fill(2)
                    filled += 2
            elif filled < 55:  # in use but constant
                machine.fill(55)
                filled = 55
            at = time.time()
            with opener.open("http://%s:9100/metrics" % ADDRESS, timeout=10) as answer:
                text = answer.read().decode()
            out.writelines(scraper.scraped(text, at))
            time.sleep(max(0, INTERVAL - (time.time() - at)))
    return begin + QUIET


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--keep", metavar="FILE")
    parser.add_argument("--rules", nargs="+", default=["pack:derive", "pack:fleet"])
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("prometheus-node-exporter"):
        print("skipped: needs root and prometheus-node-exporter")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or os.path.join(folder, "real.prom")
        with Machine(folder) as machine:
            began = record(machine, path)
        done = subprocess.run([options.binary, "backtest", "--format", "openmetrics", "--no-status", "--rules", *options.rules, "--input", path],
                              capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(done.stderr)
    found, early = set(), []
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event["type"] != "io.pitwall.issue.found":
            continue
        started = time.strftime("%H:%M:%S", time.gmtime(began))
        print("%s (faults from %s): %s" % (event["time"][11:19], started, event["data"]["summary"]))
        if event["time"][11:19] < started:
            early.append(event["data"]["alert"])
        elif event["data"]["labels"].get("node") == "real":
            found.add(event["data"]["alert"])
    wrong = sorted({"DiskFull", "OomKill", "Retransmit"} - found) + early
    print("FAILED: %s" % wrong if wrong else "passed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
