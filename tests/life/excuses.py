"""Losses excused by damage to the disk. Only lost content of the damaged file is excused, and only if the system reported the damage."""
import re

NAMED = re.compile(r"damag|corrupt|checksum|crc|lost|truncat|missing|not found|begins at|repair|does not reach|gone|below", re.I)


class Excuses:
    def __init__(self, a):
        self._a = a
        self._damages = a.damages()
        texts = [h["text"] for h in a.health if h["status"] != 200]
        for what in self._damages:
            texts += what.get("said", []) + ([what["refusal"]] if "refusal" in what else [])
        texts += [m["name"] for m in a.metrics if "damage" in m["name"]]
        self.named = [t for t in texts if NAMED.search(t)]

    def _damaged(self, *parts):
        return [w for w in self._damages if w.get("part") in parts]

    def _cut_commits(self):
        """Returns the damage entries that removed the last frames of a journal. The result looks like a journal after a power loss, so the system
        cannot report the damage."""
        return [w for w in self._damaged("commits") if w["how"] in ("cut", "delete")]

    def values(self, rank):
        del rank
        repaired = any(w.get("way") for w in self._damages)
        return bool(self.named) and (bool(self._damaged("telemetry", "commits")) or repaired) or bool(self._cut_commits())

    def issues_of(self, partition):
        """Returns true if the events of a partition cannot be judged because its file of issues was damaged or repaired."""
        if not self.named:
            return False
        if any(w.get("way") for w in self._damaged("commits")):
            return True
        return any(w.get("partition") == partition for w in self._damaged("issues"))

    def repeats(self, event):
        """Returns true if the event may be written again with the same ID: the whole journal was lost, including the positions, or the processor's
        state was dropped, so that the changes of running jobs are reported again. A repair alone does not cause repeats."""
        if any(set(w.get("way", [])) - {"pitwall log repair"} for w in self._damaged("commits")):
            return True
        return event["type"] == "io.pitwall.job.changed" and any("--accept-log-reset" in w.get("way", []) for w in self._damages)

    def invented(self, event):
        """Returns true if the event may have been delivered and then lost from the log with the damaged file."""
        del event
        return bool(self.named and self._damaged("issues", "telemetry", "commits")) or bool(self._cut_commits())

    def verify(self):
        if not self._damages:
            return False
        last = [h for h in self._a.health][-1:]
        sick = last and last[0]["status"] != 200
        named = NAMED.search(self._a.verify["stderr"] + self._a.verify["stdout"].split("\nlive:")[0])
        return bool(sick or named or any(w.get("way") for w in self._damages))

    def crash(self, crash):
        """Returns true for a refusal to start, because damage.py judges it. Exit code 2 occurs only if the service refuses to start."""
        return bool(self._damages) and crash["exit"] == 2 and any(
            f["kind"] == "damage" and f["began"] < crash["t"] for f in self._a.faults)
