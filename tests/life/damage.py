"""Damage to the data directory of a stopped service (a flipped bit, a truncation, or a deletion), and the recovery at the next start."""
import os

from faults import Fault

SNAPSHOT_AGE_S = 8  # minimum age of an era before damage; snapshots are written every 4 s
TOPICS = ("pitwall.telemetry", "pitwall.issues", "pitwall.state", "pitwall.rules")


def files(data):
    """Returns [(kind, path)] for the non-empty files, except for the filler and the lock."""
    found = []
    for folder, _, names in os.walk(os.path.join(data, "log")):
        for name in names:
            path = os.path.join(folder, name)
            if name.startswith(".") or name == "LOCK" or os.path.getsize(path) == 0:
                continue
            part = next((topic[len("pitwall."):] for topic in TOPICS if "/%s/" % topic in path), None)
            part = "commits" if "/commits/" in path else "conf" if name == "topic.conf" else part
            if part is not None:
                found.append((part, path))
    return sorted(found)


class Damage(Fault):
    """Damage to a file in a stopped service's log, including its state: a bit flip, a truncation, or a deletion."""

    kind = "damage"

    @classmethod
    def usable(cls, life):
        return life.system.kafka is None

    def lasts(self):
        return 0

    def apply(self):
        system = self.life.system
        service = system.services[0]
        self.life.let_pass(SNAPSHOT_AGE_S)
        self.life.observer.look()
        clean = self.random.random() < 0.5
        if clean:
            service.stop()
        else:
            service.kill()
        by_part = {}
        for part, path in files(system.data):
            by_part.setdefault(part, []).append(path)
        # The state is selected twice as often, because restarts depend on it.
        part = self.random.choice([p for p in sorted(by_part) for _ in range(2 if p == "state" else 1)])
        path = self.random.choice(by_part[part])
        size = os.path.getsize(path)
        how = self.random.choice(("bit", "bit", "cut", "delete"))
        at = self.random.randrange(size)
        self.what.update(part=part, file=os.path.relpath(path, system.data), how=how, at=at, size=size,
                         partition=partition_of(path), stopped="clean" if clean else "kill")
        if how == "bit":
            with open(path, "r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ (1 << self.random.randrange(8))]))
        elif how == "cut":
            os.truncate(path, at)
        else:
            os.unlink(path)

    def heal(self):
        """Starts the service. If it refuses to start, applies the recovery that its message recommends."""
        system = self.life.system
        service = system.services[0]
        ready, refusals, done = system.start_with_recovery(service)
        if refusals:
            self.what.update(refusal=refusals[0], way=done, last_refusal=refusals[-1])
        self.what["outcome"] = "no recovery" if not ready else "started after recovery" if done else "started"
        self.what["said"] = damage_reports(service)


def partition_of(path):
    folder = os.path.basename(os.path.dirname(path))
    return int(folder) if folder.isdigit() else None


def damage_reports(service):
    """Returns the lines of the service's log and health that report damage."""
    words = ("damage", "corrupt", "checksum", "crc", "data loss", "lost", "truncat", "missing", "not found", "cannot be read", "gone",
             "snapshot", "repair", "below")
    lines = [line[:300] for line in service.log().splitlines()
             if any(w in line.lower() for w in words) and ("warn" in line.lower() or "error" in line.lower() or line[:1] in "WE")]
    status, text = service.health()
    return lines[:20] + ([text.strip()] if status not in (200, None) else [])
