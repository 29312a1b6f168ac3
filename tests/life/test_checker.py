#!/usr/bin/env python3
"""Tests that the checker detects each defect planted in the artifacts of a healthy era (recorded/), and reports no defects in the healthy artifacts.

test_checker.py
"""
import copy
import os
import unittest

from artefacts import read
from checker import check, issue_of

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


class Checker(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.healthy = read(RECORDED)

    def setUp(self):
        self.a = copy.deepcopy(self.healthy)

    def finds(self, *words):
        found = check(self.a)
        for word in words:
            self.assertTrue(any(word in defect for defect in found), "%r is not in %s" % (word, found))

    def kind(self, kind):
        """Returns the indices of the events of this kind that belong to issues with at least two events."""
        whole = [issue_of(e["event"]) for e in self.a.events]
        return [i for i, e in enumerate(self.a.events) if e["event"]["type"].endswith("." + kind) and whole.count(whole[i]) > 1]

    def remove_event(self, i):
        """Removes an event from the log and from the webhooks, as if it had never been committed."""
        gone = self.a.events.pop(i)["event"]["id"]
        self.a.webhooks = [w for w in self.a.webhooks if w["id"] != gone]

    def lose(self, batch):
        self.a.batches.remove(batch)
        return batch

    def middle(self):
        return self.a.batches[len(self.a.batches) // 2]

    def damage(self, part, said=(), **more):
        self.a.faults.append({"kind": "damage", "began": 0, "healed": 1, "ready": 1, "sick": {},
                              "what": dict({"part": part, "how": "bit", "partition": 0, "outcome": "started", "said": list(said)},
                                           **more)})

    # Tests with healthy artifacts.

    def test_healthy_era_has_no_defect(self):
        self.assertEqual(check(self.a), [])
        self.assertGreater(sum(len(j.values) for j in self.a.journals.values()), 300)
        self.assertGreater(len(self.kind("found")), 10)
        self.assertEqual(self.a.verify["exit"], 0)

    def test_duplicate_batch_or_delivery_is_not_a_defect(self):
        self.a.batches.append(copy.deepcopy(self.middle()))
        self.a.webhooks.append(copy.deepcopy(self.a.webhooks[0]))
        self.assertEqual(check(self.a), [])

    def test_counted_loss_is_not_a_defect(self):
        batch = self.lose(self.middle())
        made = dict(self.a.journals[self.journal_of(batch)].values)[batch["values"][0]]
        self.a.metrics.append({"t": made + 3, "service": "standalone", "start": 1, "grew": 1,
                               "name": 'pitwall_collector_records_dropped_total{reason="spool_full"}'})
        self.assertEqual(check(self.a), [])

    def test_unsent_data_of_killed_rank_is_not_a_defect(self):
        rank = max(self.a.ranks, key=lambda r: len(self.a.journals[r["journal"]].values))
        journal = self.a.journals[rank["journal"]]
        number, made = journal.values[-1]
        rank["killed"], journal.left, journal.ended = made + 0.01, -1, 0.0
        for batch in self.a.batches:
            batch["values"] = [v for v in batch["values"] if v != number]
        self.a.events, self.a.webhooks = [], []
        self.a.verify["stdout"] = "0 events: live and replayed are bit-identical\n"
        self.assertEqual(check(self.a), [])

    def journal_of(self, batch):
        return next(r["journal"] for r in self.a.ranks if (r["job"], r["rank"]) == (batch["job"], batch["rank"]))

    # Tests with planted defects.

    def test_dropped_commit_is_detected(self):
        # Simulates a dropped commit: a telemetry record and an event are missing.
        self.lose(self.middle())
        self.remove_event(self.kind("found")[0])
        self.finds("values lost but not counted", "(orphan)")

    def test_uncounted_loss_is_detected(self):
        self.middle()["values"].pop()
        self.finds("values lost but not counted")

    def test_loss_counted_before_it_happened_is_detected(self):
        batch = self.lose(self.middle())
        made = dict(self.a.journals[self.journal_of(batch)].values)[batch["values"][0]]
        self.a.metrics.append({"t": made - 30, "service": "standalone", "start": 1, "name": "pitwall_collector_client_drops_total",
                               "grew": 1000})
        self.finds("values lost but not counted")

    def test_single_count_for_two_losses_is_detected(self):
        first, second = self.lose(self.a.batches[5]), self.lose(self.a.batches[-5])
        values = [v for b in (first, second) for v in b["values"]]
        self.assertGreater(len(values), 1)
        made = dict(self.a.journals[self.journal_of(first)].values)[first["values"][0]]
        self.a.metrics.append({"t": made + 1, "service": "standalone", "start": 1, "name": "pitwall_collector_client_drops_total",
                               "grew": len(values) - 1})
        self.finds("values lost but not counted")

    def test_duplicate_value_is_detected(self):
        batch = copy.deepcopy(self.middle())
        batch["seq"] += 100000
        self.a.batches.append(batch)
        self.finds("duplicate values in the log")

    def test_unsent_value_is_detected(self):
        self.middle()["values"].append(999_000_001)
        self.finds("values in the log that no client sent")

    def test_repeated_event_is_detected(self):
        i = self.kind("found")[0]
        self.a.events.insert(i + 1, copy.deepcopy(self.a.events[i]))
        self.finds("occurs 2 times in the log", "is found 2 times")

    def test_repeated_job_change_after_accepted_reset_is_excused(self):
        change = copy.deepcopy(self.a.events[-1])
        change["event"].update(type="io.pitwall.job.changed", id="change")
        self.a.events += [change, copy.deepcopy(change)]
        self.finds("occurs 2 times in the log")
        self.damage("rules", ["rule set is missing"], way=["pitwall log repair"])
        self.finds("occurs 2 times in the log")
        self.damage("rules", ["rule set is missing"], way=["pitwall log repair", "--accept-log-reset"])
        self.assertEqual(check(self.a), [])

    def test_repeated_event_with_new_id_is_detected(self):
        i = self.kind("resolved")[0]
        again = copy.deepcopy(self.a.events[i])
        again["event"]["id"] = "0" * 32
        self.a.events.append(again)
        self.a.webhooks.append({"id": "0" * 32, "event": again["event"]})
        self.finds("continues after its end")

    def test_orphaned_event_is_detected(self):
        self.remove_event(self.kind("found")[0])
        self.finds("(orphan)")

    def test_sequence_gap_is_detected(self):
        event = self.a.events[self.kind("resolved")[0]]["event"]
        event["data"]["sequence"] += 1
        for delivery in self.a.webhooks:
            if delivery["id"] == event["id"]:
                delivery["event"] = event
        self.finds("has the sequence")

    def test_out_of_order_events_are_detected(self):
        i = self.kind("found")[0]
        issue = issue_of(self.a.events[i]["event"])
        j = next(j for j in range(i + 1, len(self.a.events)) if issue_of(self.a.events[j]["event"]) == issue)
        self.a.events[i], self.a.events[j] = self.a.events[j], self.a.events[i]
        self.finds("(orphan)", "continues after its end", "goes backward in time")

    def test_unended_issue_with_successor_is_detected(self):
        elements = {}
        for i in self.kind("resolved"):
            event = self.a.events[i]["event"]
            elements.setdefault((event["source"], event["data"]["rule"], str(event["data"]["labels"])), []).append(i)
        self.remove_event(next(ends[0] for ends in elements.values() if len(ends) > 1))
        self.finds("starts while")

    def test_open_issue_of_ended_job_is_detected(self):
        self.remove_event(self.kind("resolved")[-1])
        self.finds("is open, but its job ended")

    def test_wrong_end_reason_is_detected(self):
        self.a.events[self.kind("resolved")[0]]["event"]["data"]["end_reason"] = "rule_removed"
        self.a.faults = []
        self.finds("the rule was not edited")

    def test_end_of_a_running_job_is_detected(self):
        event = self.a.events[self.kind("resolved")[0]]["event"]
        event["data"]["end_reason"] = "job_ended"
        for rank in self.a.ranks:
            if rank["job"] == event["data"]["job"]["id"]:
                self.a.journals[rank["journal"]].ended = 0.0
        self.finds("ended as job_ended, but the job is running")

    def test_missing_webhook_is_detected(self):
        gone = self.a.events[3]["event"]["id"]
        self.a.webhooks = [w for w in self.a.webhooks if w["id"] != gone]
        self.finds("events without a webhook: " + gone)

    def test_invented_webhook_is_detected(self):
        invented = copy.deepcopy(self.a.webhooks[0])
        invented["id"] = invented["event"]["id"] = "f" * 32
        self.a.webhooks.append(invented)
        self.finds("webhooks with events that are not in the log: " + "f" * 32)

    def test_webhook_with_wrong_content_is_detected(self):
        self.a.webhooks[0]["event"]["data"]["value"] = 12345
        self.finds("differs from the log")

    def test_diverging_replay_is_detected(self):
        self.a.verify.update(exit=1, stdout="partition 0, event 7 differs\nlive:     {}\nreplayed: {}\n")
        self.finds("health reports no reason")

    def test_replay_with_fewer_events_is_detected(self):
        self.a.verify["stdout"] = "3 events: live and replayed are bit-identical\n"
        self.finds("fewer events than the log contains")

    def test_crash_before_a_restart_is_detected(self):
        self.a.crashes.append({"t": 1, "service": "standalone", "start": 2, "exit": -11, "last": ""})
        self.finds("ended unexpectedly with -11")

    def test_accepted_data_of_misbehaving_client_is_detected(self):
        self.a.events[0]["event"]["data"]["alert"] = "LifeLiar"
        self.finds("data of a misbehaving client")

    def test_partition_delaying_other_partitions_is_detected(self):
        self.a.faults = [{"kind": "partition", "began": 100, "healed": 104, "ready": 104, "sick": {}, "what": {"partition": 1}}]
        self.a.metrics.append({"t": 103, "service": "standalone", "start": 1, "grew": 400,
                               "name": 'pitwall_processor_dropped_total{partition="1",reason="late"}'})
        self.assertEqual([d for d in check(self.a) if "late" in d], [])
        self.a.metrics[-1]["name"] = 'pitwall_processor_dropped_total{partition="2",reason="late"}'
        self.finds("other partitions dropped late samples")

    def test_unreadable_log_is_detected(self):
        self.a.bad.append({"topic": "", "p": -1, "message": "telemetry_dump: DATA_LOSS: journal"})
        self.assertEqual(check(self.a), ["the log cannot be read: telemetry_dump: DATA_LOSS: journal"])

    def test_system_that_stays_unhealthy_is_detected(self):
        self.a.end["last"] = {"standalone": {"health": [503, "processor: partition 1 stands still\n"], "metrics": {}}}
        self.finds("is not healthy at the end")

    # Tests that damage excuses only the reported loss of its own data.

    def test_unreported_damage_does_not_excuse_losses(self):
        self.lose(self.middle())
        self.damage("telemetry")
        self.finds("values lost but not counted")

    def test_reported_damage_excuses_lost_values(self):
        self.lose(self.middle())
        self.damage("telemetry", ["E log: 000.seg: checksum of a batch, offsets 3 to 9 are lost"])
        self.assertEqual(check(self.a), [])

    def test_damage_to_state_does_not_excuse_orphans(self):
        self.remove_event(self.kind("found")[0])
        self.damage("state", ["E processor: snapshot damaged"])
        self.finds("(orphan)")

    def test_damage_without_recovery_is_detected(self):
        self.damage("commits", outcome="no recovery", refusal="journal damaged")
        self.finds("damage without a recovery")


if __name__ == "__main__":
    unittest.main()
