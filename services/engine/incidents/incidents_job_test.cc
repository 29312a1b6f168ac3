// Tests for incidents in a complete job: rules on both clocks, reloads, and restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

constexpr char kBothClocks[] = R"rules(
groups:
- name: steps
  clock: step
  interval: 1
  rules:
  - {alert: StepOutlier, expr: "max(train_step_duration_seconds) > 2"}
  - alert: StragglerRank
    expr: train_step_duration_seconds > 1.5 * scalar(min(train_step_duration_seconds))
    explains: [StepOutlier, LowThroughput]
- name: times
  interval: 1s
  rules:
  - {alert: LowThroughput, expr: train_throughput < 10, for: 3s}
)rules";

// Two ranks that each finish one step per second. Rank 0 also reports the throughput.
class TwoRanks {
 public:
  explicit TwoRanks(std::string_view rules) : shard_(rules) {}

  // Feeds the data for second `s`, in which rank 1's step took `seconds`.
  void Second(int s, double seconds, double throughput) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      Schema schema;
      schema.series.push_back(
          {Labels({{kMetricName, "train_step_duration_seconds"}, {"rank", Cat(rank)}}),
           SeriesKind::kGauge});
      if (rank == 0) {
        schema.series.push_back({Labels({{kMetricName, "train_throughput"}}), SeriesKind::kGauge});
      }
      schema.id = SchemaId(0, schema.series);
      const int64_t times[] = {ShardForTest::At(s)};
      const int64_t steps[] = {s};
      const std::vector<double> values =
          rank == 0 ? std::vector<double>{1, throughput} : std::vector<double>{seconds};
      Batch batch;
      batch.source = Cat("rank-", rank);
      batch.info.kind = SourceKind::kRank;
      batch.info.rank = rank;
      batch.info.step_modes = {"train"};
      batch.schemas.push_back(schema);
      batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
      batch.frames.back().steps = steps;
      batch.frames.back().mode = "train";
      batch.step_promises.push_back({"train", s});
      shard_.Feed(batch, s);
    }
  }
  ShardForTest& shard() { return shard_; }

  // Returns "<second> <event> <alert>[/rank] of <incident> because of <root cause>" for each issue
  // event. The incident and the root cause appear as issue names.
  std::vector<std::string> Told(bool updates_too = true) const {
    std::map<std::string, std::string> names;
    std::vector<std::string> out;
    for (const IssueEvent& e : shard_.outputs().events) {
      if (e.type == EventType::kIssueFound) names[e.id] = NameOf(e);
    }
    const auto name = [&](const std::string& id) { return names.contains(id) ? names[id] : id; };
    for (const IssueEvent& e : shard_.outputs().events) {
      if (e.type == EventType::kRuleStatus || e.type == EventType::kJobChanged) continue;
      if (e.type == EventType::kIssueUpdated && !updates_too) continue;
      std::string line =
          Cat((e.time.ns() - ShardForTest::kBase) / kNanosPerSecond, " ",
              EventTypeName(e.type).substr(17), " ", NameOf(e), " of ", name(e.incident));
      if (!e.root_cause.empty()) CatTo(line, " because of ", name(e.root_cause));
      out.push_back(line);
    }
    return out;
  }

 private:
  static std::string NameOf(const IssueEvent& e) {
    return e.labels.Has("rank") ? Cat(e.alert, "/", e.labels.Get("rank")) : e.alert;
  }
  ShardForTest shard_;
};

TEST(JobIncidents, StragglerOnStepClockExplainsIssueOnTimeClock) {
  TwoRanks job(kBothClocks);
  for (int s = 1; s <= 20; ++s)
    job.Second(s, s >= 10 && s < 16 ? 3 : 1, s >= 11 && s < 18 ? 5 : 50);
  EXPECT_THAT(job.Told(),
              ElementsAre("10 found StepOutlier of StepOutlier because of StragglerRank/1",
                          "10 found StragglerRank/1 of StepOutlier",
                          "14 found LowThroughput of StepOutlier because of StragglerRank/1",
                          "16 resolved StepOutlier of StepOutlier because of StragglerRank/1",
                          "16 resolved StragglerRank/1 of StepOutlier",
                          "18 resolved LowThroughput of StepOutlier because of StragglerRank/1"));
}

TEST(JobIncidents, LateCauseIsReportedByNextUpdate) {
  TwoRanks job(kBothClocks);
  for (int s = 1; s <= 400; ++s) job.Second(s, s >= 30 ? 1.8 : 1, s >= 5 ? 5 : 50);
  EXPECT_THAT(job.Told(),
              ElementsAre("8 found LowThroughput of LowThroughput",
                          "30 found StragglerRank/1 of LowThroughput",
                          "68 updated LowThroughput of LowThroughput because of StragglerRank/1",
                          "330 updated StragglerRank/1 of LowThroughput",
                          "368 updated LowThroughput of LowThroughput because of StragglerRank/1"));
}

// Rank 1's step duration and the throughput at a given second. Both alternate between normal and
// bad, which opens and closes issues on both clocks and changes their root causes.
double Slowness(int s) { return s % 97 < 40 ? 1 : s % 97 < 70 ? 1.7 : 2.5; }
double Throughput(int s) { return s % 61 < 20 ? 50 : 5; }

TEST(JobIncidents, RestartDoesNotChangeEvents) {
  TwoRanks straight(kBothClocks), restarted(kBothClocks);
  for (int s = 1; s <= 400; ++s) {
    for (TwoRanks* job : {&straight, &restarted}) job->Second(s, Slowness(s), Throughput(s));
    restarted.shard().Restart();
  }
  EXPECT_EQ(restarted.Told(), straight.Told());
  const auto told = straight.Told();
  EXPECT_GE(std::count_if(told.begin(), told.end(),
                          [](const std::string& line) {
                            return line.find("because of StragglerRank/1") != std::string::npos;
                          }),
            10);
  const auto& a = straight.shard().outputs().events;
  const auto& b = restarted.shard().outputs().events;
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].id, b[i].id);
    ASSERT_EQ(a[i].incident, b[i].incident);
    ASSERT_EQ(a[i].root_cause, b[i].root_cause);
  }
}

TEST(JobIncidents, IssueOfRemovedRuleLeavesIncident) {
  TwoRanks job(kBothClocks);
  for (int s = 1; s <= 20; ++s) job.Second(s, s >= 5 ? 3 : 1, 50);
  const std::string all(kBothClocks);
  const size_t straggler = all.find("  - alert: StragglerRank");
  job.shard().ChangeRules(all.substr(0, straggler) + all.substr(all.find("- name: times")));
  for (int s = 21; s <= 90; ++s) job.Second(s, 3, s >= 80 ? 5 : 50);
  EXPECT_THAT(job.Told(),
              ElementsAre("5 found StepOutlier of StepOutlier because of StragglerRank/1",
                          "5 found StragglerRank/1 of StepOutlier",
                          "20 resolved StragglerRank/1 of StepOutlier",
                          "65 updated StepOutlier of StepOutlier",
                          "83 found LowThroughput of LowThroughput"));
}

TEST(JobIncidents, JobEndResolvesIssuesWithTheirIncidents) {
  TwoRanks job(kBothClocks);
  for (int s = 1; s <= 10; ++s) job.Second(s, s >= 5 ? 3 : 1, 5);
  EventSink out;
  job.shard().shard().FinishInput(/*end_jobs=*/true, &out);
  std::vector<std::string> ended;
  for (const IssueEvent& e : out.events) {
    if (e.type != EventType::kIssueResolved) continue;
    ended.push_back(e.alert);
    EXPECT_FALSE(e.incident.empty());
    EXPECT_EQ(e.root_cause.empty(), e.alert == "StragglerRank");
  }
  EXPECT_THAT(ended, ElementsAre("LowThroughput", "StepOutlier", "StragglerRank"));
}

// Returns an issue of `alert` with these labels, found at second `s`.
IssueEvent FoundIssue(int64_t s, const std::string& alert, Labels labels) {
  IssueEvent event;
  event.job = "job";
  event.alert = alert;
  event.rule = Cat("pack/g/", alert);
  event.labels = labels.With("alertname", alert);
  event.type = EventType::kIssueFound;
  event.time = event.active_since = EventTime::FromNs(ShardForTest::kBase + s * kNanosPerSecond);
  event.sequence = 1;
  event.id = MakeEventId(event);
  return event;
}

TEST(IncidentPlaces, NodeFaultExplainsOnlyRanksOnThatNode) {
  const plan::ProgramPtr program = ProgramForTest(R"rules(
groups:
- name: g
  rules:
  - {alert: Xid, expr: m > 0, explains: [Slow]}
  - {alert: Slow, expr: m > 0}
)rules");
  EngineOptions options;
  EngineCounters counters;
  std::optional<IncidentTracker> tracker(std::in_place, options, &counters);
  tracker->SetProgram(program.get());
  const StringMap<std::string> nodes = {{"1", "a"}, {"8", "c"}};
  const auto nodes_of = [&]() -> const StringMap<std::string>& { return nodes; };
  std::vector<IssueEvent> events = {FoundIssue(1, "Xid", Labels({{"node", "c"}})),
                                    FoundIssue(1, "Slow", Labels({{"rank", "8"}}))};
  tracker->Apply(events, nodes_of);
  EXPECT_EQ(events[1].root_cause, events[0].id);

  // Information about nodes survives a restart.
  BinaryWriter saved;
  tracker->Save(saved);
  tracker.emplace(options, &counters);
  tracker->SetProgram(program.get());
  BinaryReader in(saved.data());
  tracker->Restore(in);
  ASSERT_TRUE(in.Finish("tracker").ok());
  BinaryWriter again;
  tracker->Save(again);
  EXPECT_EQ(again.data(), saved.data());

  std::vector<IssueEvent> later = {FoundIssue(300, "Slow", Labels({{"rank", "1"}})),
                                   FoundIssue(300, "Slow", Labels({{"rank", "2"}}))};
  tracker->Apply(later, nodes_of);
  EXPECT_EQ(later[0].root_cause, "") << "rank 1 runs on another node";
  EXPECT_EQ(later[0].incident, later[0].id);
  EXPECT_EQ(later[1].root_cause, events[0].id) << "nobody knows where rank 2 runs";
}

// A condition on every node cannot explain why one rank is slow; a condition on one node can.
class SharedNodes : public ::testing::Test {
 protected:
  SharedNodes()
      : program_(ProgramForTest(R"rules(
groups:
- name: g
  rules:
  - {alert: Busy, expr: m > 0, explains: [Slow, Stalls]}
  - {alert: Slow, expr: m > 0}
  - {alert: Stalls, expr: m > 0}
)rules")) {
    tracker_.emplace(options_, &counters_);
    tracker_->SetProgram(program_.get());
  }
  void Apply(std::vector<IssueEvent>* events) {
    tracker_->Apply(*events, [&]() -> const StringMap<std::string>& { return nodes_; });
  }
  void Restart() {
    BinaryWriter saved;
    tracker_->Save(saved);
    tracker_.emplace(options_, &counters_);
    tracker_->SetProgram(program_.get());
    BinaryReader in(saved.data());
    tracker_->Restore(in);
    ASSERT_TRUE(in.Finish("tracker").ok());
    BinaryWriter again;
    tracker_->Save(again);
    EXPECT_EQ(again.data(), saved.data());
  }
  static IssueEvent Busy(int64_t s, std::string node) {
    return FoundIssue(s, "Busy", Labels({{"node", std::move(node)}}));
  }
  static IssueEvent Slow(int64_t s, std::string rank) {
    return FoundIssue(s, "Slow", Labels({{"rank", std::move(rank)}, {"category", "straggler"}}));
  }

  const plan::ProgramPtr program_;
  const EngineOptions options_;
  EngineCounters counters_;
  std::optional<IncidentTracker> tracker_;
  StringMap<std::string> nodes_;  // node by rank
};

TEST_F(SharedNodes, ConditionOnAllRanks_DoesNotExplainSlowRank) {
  for (int rank = 0; rank < 8; ++rank) nodes_[Cat(rank)] = "a";
  std::vector<IssueEvent> events = {
      Busy(1, "a"), Slow(5, "3"),
      FoundIssue(5, "Stalls", Labels({{"rank", "3"}, {"category", "bottleneck"}})),
      FoundIssue(5, "Stalls", Labels({{"category", "bottleneck"}})),
      FoundIssue(5, "Stalls", Labels({{"rank", "3"}, {"category", "death"}}))};
  Apply(&events);
  EXPECT_EQ(events[1].root_cause, "") << "the other seven run on this node too";
  EXPECT_EQ(events[1].incident, events[1].id);
  EXPECT_EQ(events[2].root_cause, "") << "it says that this rank waits";
  EXPECT_EQ(events[3].root_cause, events[0].id) << "of the whole job";
  EXPECT_EQ(events[4].root_cause, events[0].id) << "no loss of time";
  Restart();
  std::vector<IssueEvent> later = {Slow(30, "5")};
  Apply(&later);
  EXPECT_EQ(later[0].root_cause, "") << "known after a restart, too";
}

TEST_F(SharedNodes, NodeConditionExplainsSlowRankUntilBothNodesHaveIt) {
  nodes_ = {{"0", "a"}, {"1", "a"}, {"2", "b"}, {"3", "b"}};
  std::vector<IssueEvent> events = {Busy(1, "b"), Slow(5, "3")};
  Apply(&events);
  EXPECT_EQ(events[1].root_cause, events[0].id);
  std::vector<IssueEvent> later = {Busy(9, "a"), Slow(10, "2")};
  const auto changed =
      tracker_->Apply(later, [&]() -> const StringMap<std::string>& { return nodes_; });
  EXPECT_EQ(later[1].root_cause, "");
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].labels, events[1].labels);
  EXPECT_EQ(changed[0].root_cause, "") << "what both nodes have is why neither is slow";
}

IssueEvent BusyRank(int64_t s, std::string rank, std::string node) {
  return FoundIssue(s, "Busy", Labels({{"rank", std::move(rank)}, {"node", std::move(node)}}));
}

TEST_F(SharedNodes, CauseOnAllRanks_DoesNotExplainSingleRank) {
  nodes_ = {{"0", "a"}, {"1", "b"}};
  std::vector<IssueEvent> events = {BusyRank(1, "0", "a"), Slow(2, "0")};
  Apply(&events);
  EXPECT_EQ(events[1].root_cause, events[0].id);
  std::vector<IssueEvent> later = {BusyRank(3, "1", "b"), Slow(4, "1")};
  Apply(&later);
  EXPECT_EQ(later[1].root_cause, "");
}

TEST_F(SharedNodes, RanksJoinAfterAllWereBusy_CauseExplainsSymptom) {
  nodes_ = {{"0", "a"}, {"1", "b"}};
  std::vector<IssueEvent> events = {Busy(1, "a"), BusyRank(2, "0", "a"), BusyRank(2, "1", "b"),
                                    Slow(3, "1")};
  Apply(&events);
  EXPECT_EQ(events[3].root_cause, "") << "all ranks are busy";
  for (int rank = 2; rank < 8; ++rank) nodes_[Cat(rank)] = "c";
  std::vector<IssueEvent> later = {BusyRank(10, "2", "c"), Slow(11, "1")};
  Apply(&later);
  EXPECT_EQ(later[1].root_cause, events[2].id);
}

TEST_F(SharedNodes, SymptomOfAllRanks_RequiresCauseOnAllRanks) {
  nodes_ = {{"0", "a"}, {"1", "b"}};
  const auto stall = [](int64_t s) {
    return FoundIssue(s, "Stalls", Labels({{"ranks", "all"}, {"category", "bottleneck"}}));
  };
  std::vector<IssueEvent> events = {BusyRank(1, "0", "a"), Busy(1, "a"), stall(2)};
  Apply(&events);
  EXPECT_EQ(events[2].root_cause, "") << "rank 1 waits too, on another node";
  std::vector<IssueEvent> later = {BusyRank(3, "1", "b"), stall(4)};
  Apply(&later);
  EXPECT_EQ(later[1].root_cause, events[0].id);
}

TEST_F(SharedNodes, RankWithUnknownNode_NodeIssueIsStillCause) {
  nodes_ = {{"0", "a"}, {"1", ""}};
  std::vector<IssueEvent> events = {Busy(1, "a"), Slow(5, "0")};
  Apply(&events);
  EXPECT_EQ(events[1].root_cause, events[0].id);
}

}  // namespace
}  // namespace pitwall::engine
