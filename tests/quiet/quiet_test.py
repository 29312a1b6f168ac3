#!/usr/bin/env python3
"""quiet_test.py PITWALL [--long]: checks simulated training runs with both sets of seeds. The number of issues on healthy runs is limited, and
certain faults must be detected.

The limits match the current rules and should be lowered as the rules improve. --long: runs the complete plan (tests/stages/long/quiet_long.sh).
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/trainings")
import judge
import plans
import recordings
import simulate

BINARY, LONG = None, False
# Maximum number of false issues per 1000 logged steps in a plan's healthy runs, with all packs.
MOST_PER_1000 = 0.1
# Faults that must be detected in every job with the lowest noise of its plan (σ 0.03), and the maximum number of log rows until detection.
FOUND_WITHIN = {("rank 1.3x", 1): 100, ("rank 2x", 1): 60, ("all 1.3x", 1): 120, ("one stall of 60 s", 1): 5, ("data stall", 1): 30, ("every 20", 1): 200,
                ("every 50", 1): 400, ("every 100", 1): 700, ("stages 1.4x", 1): 35, ("rank 2x", 10): 15, ("all 1.3x", 10): 30,
                ("one stall of 60 s", 10): 2, (simulate.TIMER_FAULT, 1): 450}


class Quiet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jobs = list(plans.long_plan("report") if LONG else plans.fast_plan("report"))
        cls.reports = judge.judge(BINARY, "all", cls.jobs)
        cls.found = judge.tallies(cls.jobs, cls.reports)

    def test_healthy_runs_have_few_false_issues(self):
        total = self.found["all"]
        untrue = sum(total.untrue.values())
        self.assertLessEqual(total.per_1000(untrue)[0], MOST_PER_1000, "%s, for example in %s" % (total.untrue, {a: total.where[a][:3] for a in total.untrue}))

    def test_default_pack_reports_no_false_issue(self):
        default = recordings.alerts_of(BINARY, "default")
        total = self.found["all"]
        untrue = {alert: total.where[alert] for alert in set(total.untrue) & default}
        # The complete plan includes noise that lasts twenty steps or more, so its limit is a rate instead of zero.
        most = MOST_PER_1000 * total.samples / 1000 if LONG else 0
        self.assertLessEqual(sum(total.untrue[alert] for alert in untrue), most, untrue)

    def test_no_other_rank_is_blamed(self):
        total = self.found["all"]
        self.assertEqual([alert for alert in total.beside if alert.endswith("another rank")], [])

    def test_no_issue_is_reported_three_times_in_ten_minutes(self):
        for job in self.jobs:
            began = {}
            for issue in self.reports[job["name"]]:
                if issue["alert"] in job["true"]:
                    continue  # with wide noise, WorkImbalance starts and ends repeatedly
                at = (issue["step"] or 0) * job["seconds"] / job["steps"]
                times = began.setdefault((issue["alert"], tuple(sorted(issue["labels"].items()))), [])
                times.append(at)
                if len(times) >= 3:
                    self.assertGreater(at - times[-3], 600, "%s of %s" % (issue["alert"], job["name"]))

    def test_faults_are_detected(self):
        faults = self.found["all"].faults
        for key, rows in FOUND_WITHIN.items():
            with self.subTest(fault=key):
                quiet = [job for job in self.jobs if (job["fault"], job["every"]) == key and (job["law"].startswith("σ 0.03") or key[0] == simulate.TIMER_FAULT)]
                self.assertTrue(quiet)
                for job in quiet:
                    steps = [i["step"] for i in self.reports[job["name"]] if i["alert"] in job["names"] and job["onset"] <= i["step"] <= job["until"]]
                    self.assertTrue(steps, job["name"])
                    self.assertLessEqual(min(steps) - job["onset"], rows * job["every"], job["name"])
        self.assertTrue(faults)

    def test_raised_loss_is_detected_but_single_batch_is_not(self):
        for job in self.jobs:
            if job["family"] != "values" or not job["fault"]:
                continue
            spikes = [i for i in self.reports[job["name"]] if i["alert"] in ("LossSpike", "GradNormSpike", "LossRaised") and i["step"] >= job["onset"]]
            with self.subTest(job=job["name"]):
                if not job["names"]:
                    self.assertEqual(spikes, [])
                elif job["law"] in ("gauss", "t3", "ar", "batches") and job["fault"].startswith("+100 %, 6"):
                    self.assertTrue(spikes)


class Limits(unittest.TestCase):
    """Tests the judge itself: it must count an issue on a healthy run and an issue about another rank."""

    def test_issue_on_healthy_run_counts_as_false(self):
        job = dict(next(plans.fast_plan("choose")))
        found = judge.tallies([job], {job["name"]: [{"alert": "LossSpike", "labels": {}, "step": 5}]})
        self.assertEqual(found["all"].untrue, {"LossSpike": 1})
        self.assertGreater(found["all"].per_1000(1)[0], MOST_PER_1000)

    def test_issue_about_another_rank_counts_as_false(self):
        job = next(job for job in plans.fast_plan("choose") if job["fault"] == "rank 2x")
        reports = [{"alert": "StragglerRank", "labels": {"rank": "0"}, "step": job["onset"] + 20}]
        found = judge.tallies([job], {job["name"]: reports})["all"]
        self.assertEqual(found.beside, {"StragglerRank of another rank": 1})
        self.assertEqual(found.faults["rank 2x", 1]["found"], 0)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if "--long" in sys.argv:
        sys.argv.remove("--long")
        LONG = True
    unittest.main(verbosity=2)
