"""Checks for the path from client to webhook. Each check is a pure function of an era's artifacts that returns the defects as lines of text.

check() runs all checks. excuses.py defines the losses that damage to the disk may excuse, provided that the system reported the damage.
"""
import collections
import re

from excuses import Excuses

KILLED_TAIL_S = 1.5     # a killed process loses data that its client has not sent yet: 0.1 s, more on a busy machine
LOSS_WINDOW_S = 120     # a loss may be counted long after the value was logged, when a spool is discarded
GOODBYE_S = 5.0         # a job ends this long after its last Goodbye
FAULT_MARGIN_S = 20     # a Goodbye this close to a fault may have reached a collector that the fault killed
ISSUE_TYPES = ("io.pitwall.issue.found", "io.pitwall.issue.updated", "io.pitwall.issue.resolved")


def check(artefacts):
    """Returns the defects, or [] for a healthy era."""
    excuses = Excuses(artefacts)
    if any(what.get("outcome") == "no recovery" for what in artefacts.damages()):
        return check_services(artefacts, excuses)  # the service is not running, so nothing else can be judged
    unread = [b["message"] for b in artefacts.bad if not b["topic"]]
    if unread:
        return check_services(artefacts, excuses) + ["the log cannot be read: %s" % unread[0]]
    found = []
    for judge in (check_services, check_values, check_events, check_ends, check_webhooks, check_verify, check_open, check_liars,
                  check_neighbours):
        found += judge(artefacts, excuses)
    return found


def check_services(a, excuses):
    """Checks that no service ended unexpectedly, and that every service recovered and stopped cleanly."""
    found = ["%s ended unexpectedly with %s; last output: %s" % (c["service"], c["exit"], c["last"][-400:]) for c in a.crashes
             if not excuses.crash(c)]
    for fault in a.faults:
        for service, why in fault.get("sick", {}).items():
            if fault["what"].get("outcome") != "no recovery":
                found.append("%s did not recover after %s %s: %s" % (service, fault["kind"], fault["what"], why))
        if fault["what"].get("unanswered"):
            found.append("no reaction to SIGHUP: %s" % fault["what"])
        if fault["what"].get("outcome") == "no recovery":
            found.append("damage without a recovery: %s" % fault["what"])
    if not a.damages():
        found += ["%s is not healthy at the end: %s" % (s, last["health"][1].strip()) for s, last in a.end.get("last", {}).items()
                  if last["health"][0] != 200]
    found += ["%s stopped with exit code %s" % (s, code) for s, code in a.end.get("stopped", {}).items() if code != 0]
    return found


def check_values(a, excuses):
    """Checks that each value passed to a client is in the log exactly once or is covered by a loss counter."""
    found = []
    in_log = collections.Counter()
    seen = set()
    for batch in a.batches:
        key = batch["job"], batch["source"], batch["boot"], batch["seq"]
        if key not in seen:  # a duplicate batch counts once
            seen.add(key)
            in_log.update((batch["job"], batch["rank"], v) for v in batch["values"])
    losses = sorted((m["t"], m["name"], m["grew"]) for m in a.metrics if not late_partition(m))
    unused = [grew for _, _, grew in losses]
    for rank in a.ranks:
        journal = a.journals[rank["journal"]]
        where = rank["job"], rank["rank"]
        twice = [n for n, _ in journal.values if in_log[where + (n,)] > 1]
        if twice:
            found.append("duplicate values in the log: %s %s" % (rank["journal"], short(twice)))
        missing = [(n, t) for n, t in journal.values if in_log[where + (n,)] == 0 and not excused_tail(rank, journal, t)]
        for run in runs(missing, journal):
            if excuses.values(rank):
                continue
            began, ended = run[0][1], run[-1][1]
            needed = len(run)
            for i, (t, name, _) in enumerate(losses):
                if began - 1 <= t <= ended + LOSS_WINDOW_S and unused[i] > 0:
                    taken = min(needed, unused[i] * weight(name))
                    unused[i] -= taken / weight(name)
                    needed -= taken
            if needed > 0:
                found.append("values lost but not counted: %s, %d values: %s, logged from %.1f to %.1f (%s)" % (
                    rank["journal"], len(run), short([n for n, _ in run]), began, ended, near(a, began, ended)))
    known = {(r["job"], r["rank"], n) for r in a.ranks for n, _ in a.journals[r["journal"]].values}
    jobs = {r["job"] for r in a.ranks}
    invented = [key for key in in_log if key[0] in jobs and key not in known and key[2] >= 1_000_000]
    if invented:
        found.append("values in the log that no client sent: %s" % short(sorted(invented)))
    return found


def weight(name):
    """Returns the maximum number of values that one increment of a counter covers. An update or a record contains several values."""
    return 1 if "client_drops" in name or "step_series" in name else 64


def excused_tail(rank, journal, t):
    if rank["killed"] is not None:
        return t > rank["killed"] - KILLED_TAIL_S
    # The client itself reports the values that it could not deliver because it had no collector for 45 s.
    return journal.left > 0 and journal.values and t > journal.values[-1][1] - 60


def runs(missing, journal):
    """Groups values that are adjacent in the journal."""
    position = {n: i for i, (n, _) in enumerate(journal.values)}
    groups = []
    for entry in missing:
        if groups and position[entry[0]] == position[groups[-1][-1][0]] + 1:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups


def near(a, began, ended):
    """Returns a description of the faults around that time, as a hint to the cause of a defect."""
    names = ["%s at %.1f to %.1f" % (f["kind"], f["began"], f.get("ready", 0)) for f in a.faults
             if f["began"] - 5 < ended and began < f.get("ready", f["began"]) + 5]
    return "faults near: " + ("; ".join(names) or "none")


def short(items):
    text = ", ".join(str(i) for i in items[:6])
    return text + (", … (%d)" % len(items) if len(items) > 6 else "")


def issue_of(event):
    data = event["data"]
    return (event["source"], data.get("attempt"), data["rule"], tuple(sorted(data.get("labels", {}).items())),
            data.get("active_since"))


def element_of(event):
    data = event["data"]
    return event["source"], data["rule"], tuple(sorted(data.get("labels", {}).items()))


def issues(a, excuses):
    """Returns {issue: its events in log order} for the partitions that can be judged."""
    by_issue = collections.OrderedDict()
    for entry in a.events:
        if entry["event"]["type"] in ISSUE_TYPES and not excuses.issues_of(entry["p"]):
            by_issue.setdefault(issue_of(entry["event"]), []).append(entry["event"])
    return by_issue


def check_events(a, excuses):
    """Checks that no issue has missing, repeated, or orphaned events, that IDs are unique, and that each element has at most one open issue."""
    found = []
    ids = collections.Counter(e["event"]["id"] for e in a.events if not excuses.repeats(e["event"]))
    found += ["event %s occurs %d times in the log" % (i, n) for i, n in ids.items() if n > 1]
    for issue, events in issues(a, excuses).items():
        name = "issue %s" % (issue,)
        sequences = [e["data"]["sequence"] for e in events]
        kinds = [e["type"].rsplit(".", 1)[1] for e in events]
        # On the step clock, the time of an event is the time of the newest rank's sample. It may go backward when a rank leaves, so the order of
        # steps is checked instead.
        steps = [e["data"].get("step") for e in events]
        times = [e["time"] for e in events] if None in steps else steps
        if kinds[0] != "found":
            found.append("%s starts with %s (orphan)" % (name, kinds[0]))
        if kinds.count("found") > 1:
            found.append("%s is found %d times" % (name, kinds.count("found")))
        if "resolved" in kinds[:-1]:
            found.append("%s continues after its end: %s" % (name, kinds))
        if sequences != list(range(sequences[0], sequences[0] + len(sequences))) or sequences[0] != 1:
            found.append("%s has the sequence %s" % (name, sequences))
        if times != sorted(times):
            found.append("%s goes backward in time: %s" % (name, times))
    open_now = {}
    for entry in a.events:
        event = entry["event"]
        if event["type"] not in ISSUE_TYPES or excuses.issues_of(entry["p"]):
            continue
        element, issue = element_of(event), issue_of(event)
        if event["type"].endswith(".found"):
            if element in open_now and open_now[element] != issue:
                found.append("issue %s starts while %s is open" % (issue, open_now[element]))
            open_now[element] = issue
        elif event["type"].endswith(".resolved"):
            open_now.pop(element, None)
    return found


def check_ends(a, excuses):
    """Checks that each issue's end reason is correct: its job ended or its rule was edited."""
    found = []
    edited = [f["what"] for f in a.faults if f["kind"] == "hup"]
    touched = {alert for what in edited for alert in [what.get("rule")] + what.get("gone", [])}
    running = {r["job"] for r in a.ranks if r["killed"] is None and not a.journals[r["journal"]].ended}
    for events in issues(a, excuses).values():
        data = events[-1]["data"]
        reason = data.get("end_reason")
        if not events[-1]["type"].endswith(".resolved"):
            continue
        if reason == "rule_removed" and data["alert"] not in touched:
            found.append("%s of %s ended as rule_removed, but the rule was not edited" % (data["alert"], data["job"]["id"]))
        if reason == "job_ended" and data["job"]["id"] in running:
            found.append("%s of %s ended as job_ended, but the job is running" % (data["alert"], data["job"]["id"]))
        if not reason:
            found.append("%s of %s ended without a reason" % (data["alert"], data["job"]["id"]))
    return found


def check_webhooks(a, excuses):
    """Checks that each event arrives at least once, with its ID, and that no event arrives that is not in the log."""
    recorded = {e["event"]["id"]: e for e in a.events}
    delivered = collections.defaultdict(list)
    for delivery in a.webhooks:
        delivered[delivery["id"]].append(delivery["event"])
    found = []
    wanted = [i for i, e in recorded.items() if e["event"]["type"] in ISSUE_TYPES and not excuses.issues_of(e["p"])]
    missing = [i for i in wanted if i not in delivered]
    if missing:
        found.append("events without a webhook: %s" % short(missing))
    invented = [i for i, bodies in delivered.items() if i not in recorded and not excuses.invented(bodies[0])]
    if invented:
        found.append("webhooks with events that are not in the log: %s" % short(invented))
    for identifier, bodies in delivered.items():
        if identifier not in recorded:
            continue
        if any(body != recorded[identifier]["event"] for body in bodies):
            found.append("webhook content of event %s differs from the log" % identifier)
    return found


def check_verify(a, excuses):
    """Checks that live and replayed events are equal, or that the service's health explains the difference."""
    if not a.verify:
        return ["--verify did not run"]
    if a.verify["exit"] == 0:
        match = re.search(r"(\d+) events: live and replayed are bit-identical", a.verify["stdout"])
        if not match or int(match.group(1)) < len(a.events) - sum(1 for e in a.events if excuses.issues_of(e["p"])):
            return ["--verify compared fewer events than the log contains: %s" % a.verify["stdout"][-200:]]
        return []
    if excuses.verify():
        return []
    return ["--verify: exit code %s, but health reports no reason: %s %s" % (a.verify["exit"], a.verify["stdout"][:1500], a.verify["stderr"][:500])]


def check_open(a, excuses):
    """Checks that, in a quiet system, a job that ended with an undisturbed Goodbye has no open issue."""
    found = []
    healed = [(f["began"], f.get("ready", f["began"])) for f in a.faults]
    last = collections.defaultdict(float)
    peaceful = collections.defaultdict(lambda: True)
    for rank in a.ranks:
        journal = a.journals[rank["journal"]]
        said_goodbye = journal.ended and journal.connected
        near_fault = any(began - 1 < journal.ended + GOODBYE_S + 3 and journal.ended < ready + FAULT_MARGIN_S for began, ready in healed)
        if rank["killed"] is None:
            last[rank["job"]] = max(last[rank["job"]], journal.ended)
            peaceful[rank["job"]] &= bool(said_goodbye) and (not near_fault or is_last(a, rank))
    for issue, events in issues(a, excuses).items():
        job = events[0]["data"]["job"]["id"]
        if job in last and peaceful[job] and not events[-1]["type"].endswith(".resolved"):
            found.append("issue %s is open, but its job ended at %.1f" % (issue, last[job]))
    return found


def is_last(a, rank):
    """Returns true if the rank ended at the end of the era, after all faults."""
    ended = a.journals[rank["journal"]].ended
    return all(f.get("ready", f["began"]) < ended for f in a.faults)


def check_liars(a, excuses):
    """Checks that data that a misbehaving client sent for another job did not reach any rule of that job."""
    jobs = {r["job"] for r in a.ranks}
    return ["data of a misbehaving client caused an issue of %s: %s" % (e["event"]["data"]["job"]["id"], e["event"]["id"]) for e in a.events
            if e["event"]["type"] in ISSUE_TYPES and e["event"]["data"].get("alert") == "LifeLiar"
            and e["event"]["data"]["job"]["id"] in jobs]


def late_partition(metric):
    """Returns the partition (as text) whose engine dropped late samples, or None if the metric counts something else."""
    late = re.match(r'pitwall_processor_dropped_total\{.*reason="late"', metric["name"])
    return re.search(r'partition="(\d+)"', metric["name"]).group(1) if late else None


def check_neighbours(a, excuses):
    """Checks that no other partition drops late samples while one partition cannot be written to, unless another fault occurs at about the same
    time."""
    del excuses
    found = []
    for fault in a.faults:
        if fault["kind"] != "partition" or "partition" not in fault["what"]:
            continue
        began, until = fault["began"], fault.get("ready", fault["began"]) + 5
        others = [f for f in a.faults if f["kind"] not in ("partition", "hup") and f["began"] < until
                  and f.get("ready", f["began"]) > began - 15]
        late = [m for m in a.metrics if late_partition(m) not in (None, str(fault["what"]["partition"])) and began < m["t"] < until]
        if late and not others:
            found.append("other partitions dropped late samples while partition %s could not be written: %s" % (
                fault["what"]["partition"], short([(m["name"], m["grew"]) for m in late])))
    return found
