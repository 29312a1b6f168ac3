#!/usr/bin/env python3
"""Fault injection test: injects a fault every few seconds into a running system under load, and checks the path from client to webhook.

life_test.py BINARY DUMP [--faults N] [--seed N] [--least N] [--only KIND,…] [--kafka HOST:PORT] [--folder DIR] [--keep]

Each kind of fault occurs at least `least` times (default: 2, or 15 for 300 faults). By default, the test uses the embedded log; with --kafka, or if
PITWALL_TEST_KAFKA is set, it runs three services with that broker. The same seed produces the same plan. If it fails, the test prints the seed, the
faults, and the defects, and keeps the artifacts.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from artefacts import read
from checker import check
from era import KINDS, Life
from receiver import Receiver

DAMAGE = "damage"
MOST_PER_ERA = 40
MOST_PRINTED = 25


def plan(faults, least, kinds, source):
    """Returns the eras, each a list of kinds of faults. Each kind occurs at least `least` times. Damage ends an era and occurs exactly `least`
    times."""
    wanted = [k for k in kinds for _ in range(least)]
    others = [k for k in kinds if k != DAMAGE] or list(kinds)
    wanted += [source.choice(others) for _ in range(faults - len(wanted))]
    quiet = [k for k in wanted if k != DAMAGE]
    source.shuffle(quiet)
    damages = len(wanted) - len(quiet)
    count = max(damages + (1 if quiet and not damages else 0), -(-len(quiet) // MOST_PER_ERA), 1)
    eras = [[] for _ in range(count)]
    for kind in quiet:
        source.choice(eras).append(kind)
    for era in eras[:damages]:
        era.append(DAMAGE)
    return [era for era in eras if era]


def fresh_broker(known):
    """Replaces the broker with a new one without topics, because an era is judged by its own log. Returns host:port."""
    folder, script = os.environ.get("PITWALL_TEST_KAFKA_DIR"), os.environ.get("PITWALL_TEST_BROKER_SH")
    if not folder or not script:
        sys.exit("life_test.py: --kafka %s: several eras need a broker that can be restarted; use tests/kafka/run.sh" % known)
    subprocess.run([script, "stop", folder], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(os.path.join(folder, "data"))
    line = subprocess.run([script, "start", folder], check=True, stdout=subprocess.PIPE, text=True).stdout
    return line.strip().split("bootstrap=")[1]


def live(arguments, number, kinds, receiver, folder, source):
    """Runs one era. Returns (injected faults, defects, kinds of faults that this machine does not allow)."""
    path = os.path.join(folder, "era-%d" % number)
    life = Life(arguments.binary, path, receiver, source, kafka=arguments.kafka)
    began, unusable = time.monotonic(), []
    try:
        life.begin()
        for kind in kinds:
            if not life.usable(kind):
                unusable.append(kind)
            elif not life.strike(kind):
                break
        life.end(arguments.dump)
    finally:
        life.close(keep=True)
    defects = check(read(path))
    print("era %d: %d faults in %.0f s: %s: %s" % (
        number, len(life.faults), time.monotonic() - began, " ".join(f["kind"] for f in life.faults),
        "%d defects" % len(defects) if defects else "healthy"), flush=True)
    for defect in defects[:MOST_PRINTED]:
        print("  DEFECT: " + defect[:1500], flush=True)
    if len(defects) > MOST_PRINTED:
        print("  and %d more" % (len(defects) - MOST_PRINTED))
    return life.faults, defects, unusable


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary", type=os.path.abspath)
    parser.add_argument("dump", type=os.path.abspath, help="telemetry_dump")
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--least", type=int)
    parser.add_argument("--only", help="kinds of faults: " + ", ".join(KINDS))
    parser.add_argument("--kafka", default=os.environ.get("PITWALL_TEST_KAFKA"))
    parser.add_argument("--folder")
    parser.add_argument("--keep", action="store_true", help="keep the artifacts of a healthy run too")
    return parser.parse_args()


def in_own_mounts():
    """Continues in a separate mount namespace if that is allowed, so that all mounts disappear with this process."""
    if os.environ.get("PITWALL_LIFE_MOUNTS") or os.geteuid() != 0 or not shutil.which("unshare"):
        return
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        os.environ["PITWALL_LIFE_MOUNTS"] = "own"
        os.execvp("unshare", ["unshare", "--mount", sys.executable] + sys.argv)


def main():
    arguments = parse()
    in_own_mounts()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # runs the cleanups
    kinds = [k for k in KINDS if not (arguments.kafka and k == DAMAGE)]
    if arguments.only:
        kinds = arguments.only.split(",")
        unknown = [k for k in kinds if k not in KINDS]
        if unknown:
            sys.exit("life_test.py: --only: must be a kind of fault (got %s); valid kinds are %s" % (unknown[0], ", ".join(KINDS)))
    least = arguments.least if arguments.least is not None else min(15, max(1, arguments.faults // (2 * len(kinds) - 3)), 15)
    folder = arguments.folder or tempfile.mkdtemp(prefix="pitwall-life-")
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        sys.exit("life_test.py: --folder: must be empty (got %s)" % folder)
    source = random.Random(arguments.seed)
    receiver = Receiver(random.Random(arguments.seed + 1))
    eras = plan(arguments.faults, least, kinds, source)
    print("seed %d, %d faults in %d eras, at least %d of each of %s; artifacts in %s" % (
        arguments.seed, sum(map(len, eras)), len(eras), least, ", ".join(kinds), folder), flush=True)
    happened, defects, unusable = collections.Counter(), [], set()
    for number, era in enumerate(eras):
        if arguments.kafka and number > 0:
            arguments.kafka = fresh_broker(arguments.kafka)
        faults, found, cannot = live(arguments, number, era, receiver, folder, random.Random("%d/%d" % (arguments.seed, number)))
        happened.update(f["kind"] for f in faults)
        defects += ["era %d: %s" % (number, defect) for defect in found]
        unusable.update(cannot)
        if not found and not arguments.keep:
            shutil.rmtree(os.path.join(folder, "era-%d" % number))
    receiver.close()
    print("faults: " + ", ".join("%s %d" % (k, happened[k]) for k in kinds))
    if unusable:
        print("NOTE: not tested because this machine does not allow it: " + ", ".join(sorted(unusable)))
    rare = [k for k in kinds if happened[k] < least and k not in unusable]
    if rare:
        print("FAILED: fewer than %d faults of kind %s because an era ended early" % (least, ", ".join(rare)))
    for defect in defects[:5]:  # repeated for readers of the summary
        print("FAILED: " + defect[:400])
    if defects or rare:
        print("FAILED: seed %d: %d defects; to reproduce: life_test.py %s %s --seed %d --faults %d; artifacts in %s" % (
            arguments.seed, len(defects), arguments.binary, arguments.dump, arguments.seed, arguments.faults, folder))
        return 1
    if not arguments.keep:
        shutil.rmtree(folder)
    print("healthy: seed %d, %d faults" % (arguments.seed, sum(happened.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
