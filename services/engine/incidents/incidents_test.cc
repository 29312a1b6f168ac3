// Tests for incidents and root causes based only on events.
#include "services/engine/incidents/incidents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "services/engine/testing/incidents.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Incidents, UnrelatedIssuesAreSeparateIncidents) {
  Tracked t;
  t.At(0, {"+Alone", "+Other"});
  EXPECT_EQ(t.Incident("Alone"), "Alone");
  EXPECT_EQ(t.Incident("Other"), "Other");
  t.At(1, {"+LowGPU/a"});
  EXPECT_EQ(t.Incident("LowGPU/a"), "LowGPU/a");
  EXPECT_EQ(t.tracker().open_incidents(), 3U);
}

TEST(Incidents, SameAlertWithCloseOnsets_IsOneIncident) {
  Tracked t;
  t.At(0, {"+LowGPU/a"});
  t.At(120, {"+LowGPU/b"});
  EXPECT_EQ(t.Incident("LowGPU/b"), "LowGPU/a");
  // The distance is measured from the closest issue, not from the first one.
  t.At(240, {"+LowGPU/c"});
  EXPECT_EQ(t.Incident("LowGPU/c"), "LowGPU/a");
  t.At(361, {"+LowGPU/d"});
  EXPECT_EQ(t.Incident("LowGPU/d"), "LowGPU/d");
  // Issue e began before it was found: 60 s after c and 61 s before d. Issue f also began between c
  // and d, but closer to d.
  t.At(362, {"+LowGPU/e"}, /*began=*/300);
  EXPECT_EQ(t.Incident("LowGPU/e"), "LowGPU/a");
  t.At(363, {"+LowGPU/f"}, /*began=*/340);
  EXPECT_EQ(t.Incident("LowGPU/f"), "LowGPU/d");
}

// Straggler could explain both SlowStep and LowGPU, even though no event reports a straggler.
TEST(Incidents, SymptomSeenEarlierOnAnotherNode_CauseOpensIncident) {
  Tracked t;
  t.At(0, {"+LowGPU/a", "+LowGPU/b"});
  EXPECT_EQ(t.Incident("LowGPU/b"), "LowGPU/a");
  t.At(40, {"+IO/a"});
  EXPECT_EQ(t.Incident("IO/a"), "IO/a");
  EXPECT_EQ(t.Root("LowGPU/a"), "IO/a");
  EXPECT_EQ(t.Root("LowGPU/b"), "");
  // Onsets are not exact, so a symptom that began 30 s earlier does not count as earlier.
  Tracked close;
  close.At(0, {"+LowGPU/a", "+LowGPU/b"});
  close.At(30, {"+IO/a"});
  EXPECT_EQ(close.Incident("IO/a"), "LowGPU/a");
  // A cause without a node explains issues on all nodes.
  Tracked all;
  all.At(0, {"+LowGPU/a", "+LowGPU/b"});
  all.At(40, {"+IO"});
  EXPECT_EQ(all.Incident("IO"), "LowGPU/a");
}

TEST(Incidents, JobWideIssuesWithPossibleCommonCause_AreOneIncident) {
  Tracked t;
  t.At(0, {"+SlowStep"});
  t.At(60, {"+LowGPU"});
  EXPECT_EQ(t.Incident("LowGPU"), "SlowStep");
  EXPECT_EQ(t.Root("LowGPU"), "");
  // An issue on a single node is separate until a relation connects it to others.
  t.At(61, {"+LowGPU/a"});
  EXPECT_EQ(t.Incident("LowGPU/a"), "SlowStep");  // same alert
  Tracked other;
  other.At(0, {"+SlowStep"});
  other.At(1, {"+LowGPU/a"});
  EXPECT_EQ(other.Incident("LowGPU/a"), "LowGPU/a");
}

TEST(Incidents, KnownCauseExplainsOnlyOneIssue_IncidentsAreSeparate) {
  Tracked t(R"rules(
groups:
- name: g
  rules:
  - {alert: Straggler, expr: m > 0, explains: [SlowStep]}
  - {alert: Machine, expr: m > 0, explains: [SlowStep, Stall]}
  - {alert: SlowStep, expr: m > 0}
  - {alert: Stall, expr: m > 0}
)rules");
  t.At(0, {"+Straggler", "+SlowStep"});
  t.At(60, {"+Stall"});
  EXPECT_EQ(t.Root("SlowStep"), "Straggler");
  EXPECT_EQ(t.Incident("Stall"), "Stall");
}

constexpr char kScopes[] = R"rules(
groups:
- name: g
  rules:
  - {alert: Straggler, expr: m > 0, explains: [Wait, {alert: Idle, scope: job}, {alert: Late, lag: 1s}]}
  - {alert: Wait, expr: m > 0}
  - {alert: Idle, expr: m > 0}
  - {alert: Late, expr: m > 0}
)rules";

TEST(Incidents, CauseExplainsItsNodeAndJobButNotOtherNodes) {
  Tracked t(kScopes);
  t.At(0, {"+Straggler/a"});
  t.At(1, {"+Wait/a", "+Wait/b", "+Wait", "+Idle/b"});
  EXPECT_EQ(t.Root("Wait/a"), "Straggler/a");
  EXPECT_EQ(t.Root("Wait/b"), "");
  EXPECT_EQ(t.Root("Wait"), "Straggler/a");
  EXPECT_EQ(t.Root("Idle/b"), "Straggler/a");
  // A cause without a node explains all issues; a cause that names the node is stronger.
  Tracked job(kScopes);
  job.At(0, {"+Straggler"});
  job.At(1, {"+Straggler/b"});
  job.At(2, {"+Wait/a", "+Wait/b"});
  EXPECT_EQ(job.Root("Wait/a"), "Straggler");
  EXPECT_EQ(job.Root("Wait/b"), "Straggler/b");
  job.Restart();
  job.At(3, {"-Straggler/b"});
  EXPECT_EQ(job.Root("Wait/b"), "Straggler");
}

TEST(Incidents, CauseBeginsLaterThanLagAllows_DoesNotExplain) {
  Tracked t(kScopes);
  t.At(0, {"+Wait", "+Late"});
  t.At(2, {"+Straggler"});
  EXPECT_EQ(t.Root("Wait"), "Straggler");
  EXPECT_EQ(t.Root("Late"), "");
  Tracked later(kScopes);
  later.At(0, {"+Wait"});
  later.At(121, {"+Straggler"});
  EXPECT_EQ(later.Root("Wait"), "");
  EXPECT_EQ(later.Incident("Straggler"), "Straggler");
}

constexpr char kConditions[] = R"rules(
groups:
- name: g
  rules:
  - {alert: Busy, expr: m > 0, explains: [{alert: Slow, within: 60s}, Dead]}
  - {alert: Slow, expr: m > 0}
  - {alert: Dead, expr: m > 0}
)rules";

TEST(Incidents, OldCause_ExplainsOnlyWithoutTimeLimit) {
  Tracked t(kConditions);
  t.At(0, {"+Busy"});
  t.At(60, {"+Slow/a"});
  EXPECT_EQ(t.Root("Slow/a"), "Busy");
  t.At(61, {"+Slow/b", "+Dead"});
  EXPECT_EQ(t.Root("Slow/b"), "");
  EXPECT_EQ(t.Incident("Slow/b"), "Busy");  // same alert and onset
  EXPECT_EQ(t.Root("Dead"), "Busy");
  t.At(400, {"+Slow/c"});
  EXPECT_EQ(t.Root("Slow/c"), "");
  EXPECT_EQ(t.Incident("Slow/c"), "Slow/c");
}

TEST(Incidents, CauseRises_ExplainsOnlySymptomsNearRise) {
  Tracked t(kConditions);
  t.At(0, {"+Busy"});
  t.At(600, {"~Busy"});
  t.At(610, {"+Slow/a"});
  EXPECT_EQ(t.Root("Slow/a"), "");
  t.At(1000, {"+Slow/b"});
  t.At(1060, {"^Busy"});  // updates are at least a minute apart
  EXPECT_EQ(t.Root("Slow/a"), "");
  EXPECT_EQ(t.Root("Slow/b"), "Busy");
  t.Restart();
  t.At(1100, {"+Slow/c"});
  EXPECT_EQ(t.Root("Slow/c"), "Busy");
  t.At(1200, {"+Slow/d"});
  EXPECT_EQ(t.Root("Slow/d"), "");
  EXPECT_EQ(t.Root("Slow/b"), "Busy");
}

// An open cause joins the symptom's incident even if an ended cause explains the symptom.
TEST(Incidents, CauseJoinsSymptomWhoseOnlyCauseHasEnded) {
  Tracked t;
  t.At(0, {"+IO"});
  t.At(5, {"-IO"});
  t.At(10, {"+LowGPU/n1"});
  EXPECT_EQ(t.Root("LowGPU/n1"), "IO");
  EXPECT_EQ(t.Incident("LowGPU/n1"), "LowGPU/n1");
  t.Restart();
  t.At(11, {"+Straggler/n1"});
  EXPECT_EQ(t.Incident("Straggler/n1"), "LowGPU/n1");
  EXPECT_EQ(t.Root("LowGPU/n1"), "Straggler/n1");
}

// First, all nodes stall while they wait for data. Then one rank becomes slow, and its Wait issue
// is found before its Straggler issue. The stall affects the whole job, but the wait affects only
// that rank.
TEST(Incidents, CauseJoinsItsOwnSymptomNotJobWideSymptom) {
  Tracked t(R"rules(
groups:
- name: g
  rules:
  - {alert: Straggler, expr: m > 0, explains: [Stall, Wait]}
  - {alert: Stall, expr: m > 0}
  - {alert: Wait, expr: m > 0}
)rules");
  t.At(0, {"+Stall/a", "+Stall/b"});
  t.At(40, {"+Wait/b"});
  EXPECT_EQ(t.Incident("Wait/b"), "Wait/b");
  t.At(45, {"+Straggler/b"});
  EXPECT_EQ(t.Incident("Straggler/b"), "Wait/b");
  EXPECT_EQ(t.Root("Wait/b"), "Straggler/b");
}

constexpr char kClasses[] = R"rules(
groups:
- name: g
  rules:
  - {alert: Loader, expr: m > 0, explains: [Slow], labels: {category: bottleneck, severity: warning}}
  - {alert: Xid, expr: m > 0, explains: [Slow], labels: {category: hardware, severity: critical}}
  - {alert: Hang, expr: m > 0, explains: [Slow], labels: {category: hang, severity: critical}}
  - {alert: Slow, expr: m > 0, labels: {category: progress, severity: warning}}
)rules";

// The root is neither the earliest cause nor the cause that explains the most issues.
TEST(Incidents, StrongestCauseClassIsRoot) {
  Tracked t(kClasses);
  t.At(0, {"+Loader"});
  t.At(1, {"+Slow"});
  EXPECT_EQ(t.Root("Slow"), "Loader");
  t.At(2, {"+Hang"});
  EXPECT_EQ(t.Root("Slow"), "Hang");
  t.At(3, {"+Xid/a"});
  EXPECT_EQ(t.Root("Slow"), "Xid/a");
  t.At(4, {"-Xid/a", "-Hang"});
  EXPECT_EQ(t.Root("Slow"), "Loader");
}

TEST(Incidents, IncidentEndsWithItsLastIssue) {
  Tracked t;
  t.At(0, {"+Last", "+Last/x"});
  t.At(10, {"-Last"});
  t.At(20, {"+Last/y"});
  EXPECT_EQ(t.Incident("Last/y"), "Last");  // that issue has ended, but the incident keeps its ID
  t.At(30, {"-Last/x", "-Last/y"});
  EXPECT_EQ(t.tracker().open_incidents(), 0U);
  t.At(31, {"+Alone"});
  EXPECT_EQ(t.Incident("Alone"), "Alone");
  EXPECT_EQ(t.tracker().open_incidents(), 1U);
}

TEST(Incidents, IssueFoundWhenLastIssueEnds_JoinsIncident) {
  Tracked t;
  t.At(0, {"+LowGPU/a"});
  t.At(60, {"-LowGPU/a", "+LowGPU/b"});
  EXPECT_EQ(t.Incident("LowGPU/b"), "LowGPU/a");
  EXPECT_EQ(t.tracker().open_incidents(), 1U);
}

TEST(Incidents, IssueReturnsWithSameId_IsReopened) {
  Tracked tracked;
  tracked.At(10, {"+Straggler"}, 10);
  tracked.At(11, {"-Straggler"});
  tracked.At(11, {"+Straggler"}, 10);  // on the step clock, if another step ends at the same time
  tracked.At(12, {"+SlowStep"});
  EXPECT_EQ(tracked.Root("SlowStep"), "Straggler");
  tracked.At(1000, {"+Alone"});
  tracked.At(1001, {"~SlowStep"});
  EXPECT_EQ(tracked.Root("SlowStep"), "Straggler");
  tracked.Restart();
}

TEST(Incidents, ExplainedIssueJoinsCauseRegardlessOfOnset) {
  Tracked t;
  t.At(0, {"+Straggler/n1"});
  const auto events = t.At(3600, {"+LowGPU/n1", "+LowGPU/n2", "+SlowStep"});
  EXPECT_EQ(t.Incident("LowGPU/n1"), "Straggler/n1");
  EXPECT_EQ(t.Root("LowGPU/n1"), "Straggler/n1");
  EXPECT_EQ(t.NameOfId(events[0].root_cause), "Straggler/n1");
  EXPECT_EQ(t.Root("SlowStep"), "Straggler/n1");
  // The issue on the other node is not explained, but has the same alert as an explained issue.
  EXPECT_EQ(t.Root("LowGPU/n2"), "");
  EXPECT_EQ(t.Incident("LowGPU/n2"), "Straggler/n1");
  EXPECT_THAT(t.Changes(), ElementsAre("LowGPU/n1!", "SlowStep!"));
}

TEST(Incidents, LabelMissingFromBothIssuesMatches) {
  Tracked t;
  t.At(0, {"+Straggler"});
  t.At(1, {"+LowGPU", "+LowGPU/n1"});
  EXPECT_EQ(t.Root("LowGPU"), "Straggler");
  EXPECT_EQ(t.Root("LowGPU/n1"), "");
}

TEST(Incidents, RootIsTopOfCauseChain) {
  Tracked t;
  t.At(0, {"+LowThroughput"});
  EXPECT_EQ(t.Root("LowThroughput"), "");
  t.At(10, {"+SlowStep"});
  EXPECT_EQ(t.Root("LowThroughput"), "SlowStep");
  EXPECT_THAT(t.Changes(), ElementsAre("LowThroughput"));
  t.At(120, {"+Straggler"});  // its rule is slower than the rules for its symptoms
  EXPECT_EQ(t.Root("LowThroughput"), "Straggler");
  EXPECT_EQ(t.Root("SlowStep"), "Straggler");
  EXPECT_EQ(t.Incident("Straggler"), "LowThroughput");
  t.At(125, {"+Straggler/n1"});
  EXPECT_THAT(t.Changes(), IsEmpty());  // the earlier straggler stays the root cause
  // The cause in the middle of the chain ends, but the root cause does not change.
  t.At(1070, {"-SlowStep"});
  EXPECT_EQ(t.Root("LowThroughput"), "Straggler");
}

TEST(Incidents, TopOfChainEnds_NextOpenCauseIsRoot) {
  Tracked t;
  t.At(0, {"+Straggler", "+SlowStep", "+LowThroughput"});
  EXPECT_EQ(t.Root("LowThroughput"), "Straggler");
  t.At(300, {"-Straggler"});
  EXPECT_EQ(t.Root("LowThroughput"), "SlowStep");
  EXPECT_EQ(t.Root("SlowStep"), "Straggler");  // the cause existed, even though it has ended
  t.At(900, {"+Alone"});
  EXPECT_EQ(t.Root("SlowStep"), "Straggler");
  const auto events = t.At(901, {"~SlowStep"});
  EXPECT_EQ(t.NameOfId(events[0].root_cause), "Straggler");
}

TEST(Incidents, EventOfSameTickReportsChangedRoot) {
  Tracked t;
  t.At(0, {"+SlowStep"});
  const auto events = t.At(100, {"~SlowStep", "+Straggler"});
  EXPECT_EQ(t.NameOfId(events[0].root_cause), "Straggler");
  EXPECT_THAT(t.Changes(), ElementsAre("SlowStep!"));
}

TEST(Incidents, RecentlyEndedIssueIsStillCause) {
  Tracked t;
  t.At(0, {"+Straggler", "+LowGPU"});
  t.At(100, {"-Straggler"});
  t.At(220, {"+SlowStep"});
  EXPECT_EQ(t.Root("SlowStep"), "Straggler");
  EXPECT_EQ(t.Incident("SlowStep"), "Straggler");
  t.At(220, {"-SlowStep"});
  // The root cause of the ended issue becomes the root cause of the new one.
  t.At(230, {"+LowThroughput"});
  EXPECT_EQ(t.Root("LowThroughput"), "Straggler");
  // The straggler ended more than two minutes earlier.
  EXPECT_EQ(t.At(240, {"+SlowStep"})[0].root_cause, "");
  // An issue that ended with its attempt explains nothing in the next attempt.
  t.At(300, {"+IO"});
  t.At(301, {"!IO"});
  t.At(302, {"+LowGPU/z"});
  EXPECT_EQ(t.Root("LowGPU/z"), "");
}

TEST(Incidents, CauseWithCloseOnsetIsStronger) {
  Tracked t;
  t.At(0, {"+Straggler"});  // open for a long time
  t.At(7200, {"+IO"});
  t.At(7230, {"+LowGPU"});
  EXPECT_EQ(t.Root("LowGPU"), "IO");
  t.At(7231, {"-IO"});
  EXPECT_EQ(t.Root("LowGPU"), "Straggler");
  // If both onsets are close to the symptom's, the earlier cause wins.
  Tracked both;
  both.At(0, {"+IO"});
  both.At(1, {"+Straggler"});
  both.At(2, {"+LowGPU"});
  EXPECT_EQ(both.Root("LowGPU"), "IO");
  // If the onsets are equal, the rule name breaks the tie, regardless of event order.
  Tracked same;
  same.At(0, {"+LowGPU", "+Straggler", "+IO"});
  EXPECT_EQ(same.Root("LowGPU"), "IO");
}

TEST(Incidents, FirstIssueOfCycleIsRoot) {
  Tracked t;  // A explains B, B explains C, and C explains A
  t.At(0, {"+B"});
  t.At(1, {"+A"});
  t.At(2, {"+C"});
  EXPECT_EQ(t.Root("B"), "");
  EXPECT_EQ(t.Root("C"), "B");
  EXPECT_EQ(t.Root("A"), "");  // C began after A
  Tracked same;
  same.At(0, {"+C", "+B", "+A"});
  EXPECT_EQ(same.Root("A"), "");
  EXPECT_EQ(same.Root("B"), "A");
  EXPECT_EQ(same.Root("C"), "A");
}

TEST(Incidents, ReloadAppliesNewRelations) {
  Tracked t;
  t.At(0, {"+Straggler", "+SlowStep", "+LowThroughput"});
  t.At(1, {"-Straggler"});
  EXPECT_EQ(t.Root("SlowStep"), "Straggler");
  EXPECT_EQ(t.Root("LowThroughput"), "SlowStep");
  t.Reload(R"rules(
groups:
- name: g
  rules:
  - {alert: Straggler, expr: m > 0}
  - {alert: SlowStep, expr: m > 0}
  - {alert: LowThroughput, expr: m > 0, explains: [SlowStep]}
)rules");
  t.At(2, {});
  EXPECT_EQ(t.Root("SlowStep"), "LowThroughput");
  EXPECT_EQ(t.Root("LowThroughput"), "");
  EXPECT_THAT(t.Changes(), ElementsAre("LowThroughput", "SlowStep"));
}

TEST(Incidents, IssueAboveLimitIsSeparateAndCounted) {
  Tracked t(kRules, {.max_tracked_issues_per_job = 3});
  t.At(0, {"+Straggler", "+SlowStep", "+Alone", "+LowThroughput"});
  EXPECT_EQ(t.untracked(), 1U);
  EXPECT_EQ(t.Incident("LowThroughput"), "LowThroughput");
  EXPECT_EQ(t.Root("LowThroughput"), "");
  const auto events = t.At(1, {"~LowThroughput"});
  EXPECT_EQ(t.NameOfId(events[0].incident), "LowThroughput");
  // An ended issue makes room for a new issue, even if it could still be a cause for a while.
  t.At(2, {"-Alone"});
  EXPECT_EQ(t.tracker().issues(), 3U);
  t.At(3, {"+LowGPU"});
  EXPECT_EQ(t.Root("LowGPU"), "Straggler");
  EXPECT_EQ(t.untracked(), 1U);
  EXPECT_EQ(t.tracker().issues(), 3U);
}

// Compares a random history with the same history, saved and restored after every step.
TEST(Incidents, SnapshotsDoNotChangeResults) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  Tracked straight, restored;
  const std::vector<std::string> names = {"Alone", "Straggler/a", "Straggler/b", "SlowStep",
                                          "IO",    "LowGPU/a",    "LowGPU/b",    "LowThroughput",
                                          "A",     "B",           "C",           "Last/a"};
  std::map<std::string, bool> open;
  size_t changes = 0;
  for (int64_t s = 0; s < 20'000; s += 1 + static_cast<int64_t>(random() % 60)) {
    std::vector<std::string> said;
    for (const std::string& name : names) {
      if (random() % 12 != 0) continue;
      if (!open[name]) {
        said.push_back(Cat("+", name));
      } else {
        said.push_back(Cat(random() % 3 == 0 ? "~" : random() % 8 == 0 ? "!" : "-", name));
      }
      open[name] = said.back()[0] == '+' || said.back()[0] == '~';
    }
    const int64_t began = s - static_cast<int64_t>(random() % 400);
    const auto a = straight.At(s, said, began);
    restored.Restart();
    const auto b = restored.At(s, said, began);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].incident, b[i].incident) << s;
      ASSERT_EQ(a[i].root_cause, b[i].root_cause) << s;
    }
    ASSERT_EQ(straight.Changes(), restored.Changes()) << s;
    changes += straight.Changes().size();
  }
  EXPECT_GT(changes, 50U);
}

}  // namespace
}  // namespace pitwall::engine
