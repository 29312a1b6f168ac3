// Tests that edit rule sets at random while a job has permanent issues, with and without restarts.
// Each issue must start and end exactly once, each event must match the rule that caused it, and a
// restart must not change the events.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "services/base/time.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

struct RuleEdit {
  int number = 0;      // R<number>
  int expression = 0;  // index in kExpressions
  bool record = false;
  std::vector<double> params;
  int hold = 0;
  int severity = 0;
  int text = 0;
  int explains = -1;
};

// Expressions of the rules. $p0 is the threshold. The second expression is for the step clock.
constexpr std::pair<const char*, const char*> kExpressions[] = {
    {"m > $p0", "m > $p0"},
    {"max_over_time(m[5s]) > $p0", "max_over_time(m[5]) > $p0"},
    {"sum by (gpu) (r:m) > $p0", "sum by (gpu) (m) > $p0"},
    {"count by (alertname) (ALERTS) > 0 * $p0", "m + 0 > $p0"},
    {"max_over_time((m + 1)[4s:1s]) > $p0", "max_over_time((m + 1)[4:1]) > $p0"},
    {"m > $p0 and count_over_time(m[attempt]) > 2", "m > $p0 and count_over_time(m[attempt]) > 2"},
};

// Current rules by group. The last group of each file is on the step clock.
class Edits {
 public:
  explicit Edits(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 5; ++i) Add();
  }

  void Edit() {
    std::vector<RuleEdit>& group = groups_[Pick(kGroups)];
    switch (Pick(9)) {
      case 0:
        return Add();
      case 1:
        if (!group.empty()) group.erase(group.begin() + Pick(group.size()));
        return;
      case 2:
        return std::shuffle(group.begin(), group.end(), random_);
      case 3: {  // Moves a rule to another group, file, or clock.
        if (group.empty()) return;
        const auto at = group.begin() + Pick(group.size());
        const RuleEdit rule = *at;
        group.erase(at);
        groups_[Pick(kGroups)].push_back(rule);
        return;
      }
      case 4:
        return group.clear();
      case 5:
        overridden_ = Pick(4) - 1;
        return;
      default:
        break;
    }
    if (group.empty()) return Add();
    RuleEdit& rule = group[static_cast<size_t>(Pick(group.size()))];
    switch (Pick(6)) {
      case 0:
        rule.number = Pick(10);
        break;
      case 1:
        rule.params.assign(1 + static_cast<size_t>(Pick(3)), Pick(4));
        break;
      case 2:
        rule.hold = Pick(4);
        break;
      case 3:
        rule.severity = Pick(3);
        break;
      case 4:
        ++rule.text;
        break;
      default:
        rule.explains = Pick(10);
    }
  }

  RuleSet Text() const {
    RuleSet rules;
    std::string first;  // A rule that overrides can target.
    for (int f = 0; f < kFiles; ++f) {
      std::string text = "groups:\n";
      for (int g = 0; g < kGroupsPerFile; ++g) {
        const bool step = g + 1 == kGroupsPerFile;
        const std::vector<RuleEdit>& group = groups_[f * kGroupsPerFile + g];
        if (group.empty()) continue;
        CatTo(text, "- name: g", g, "\n  ", step ? "clock: step\n  interval: 1" : "interval: 1s",
              "\n  rules:\n");
        for (const RuleEdit& rule : group) {
          if (rule.record) {
            CatTo(text, "  - {record: 'r:m', expr: ", step ? "time()" : "m", " + ", rule.number,
                  "}\n");
            continue;
          }
          if (first.empty()) first = Cat("f", f, "/g", g, "/R", rule.number);
          CatTo(text, Rule(rule, step));
        }
      }
      rules.files.push_back({Cat("f", f, ".yaml"), text == "groups:\n" ? "groups: []\n" : text});
    }
    if (overridden_ >= 0 && !first.empty()) {
      rules.overrides = RuleSetFile{"overrides.yaml", Cat("jobs:\n- match: {job: job}\n  rules: {",
                                                          first, ": {p0: ", overridden_, "}}\n")};
    }
    return rules;
  }

  int Pick(size_t n) { return static_cast<int>(random_() % n); }

 private:
  static constexpr int kFiles = 2, kGroupsPerFile = 3;
  static constexpr size_t kGroups = kFiles * kGroupsPerFile;

  static std::string Rule(const RuleEdit& rule, bool step) {
    std::string params, expression = step ? kExpressions[rule.expression].second
                                          : kExpressions[rule.expression].first;
    for (size_t i = 0; i < rule.params.size(); ++i) {
      CatTo(params, i == 0 ? "" : ", ", "p", i, ": ", FormatDouble(rule.params[i]));
      if (i > 0) CatTo(expression, " unless vector(0) > $p", i);
    }
    std::string out =
        Cat("  - alert: R", rule.number, "\n    params: {", params, "}\n    expr: ", expression,
            "\n    labels: {severity: s", rule.severity, "}\n    annotations: {summary: 'R",
            rule.number, " text ", rule.text, ": {{ $value }} above {{ $params.p0 }}'}\n");
    if (rule.hold > 0) CatTo(out, "    for: ", rule.hold, step ? "" : "s", "\n");
    if (rule.explains >= 0 && rule.explains != rule.number)
      CatTo(out, "    explains: [R", rule.explains, "]\n");
    return out;
  }

  void Add() {
    RuleEdit rule;
    rule.number = Pick(10);
    rule.expression = Pick(std::size(kExpressions));
    rule.record = Pick(5) == 0;
    rule.params.assign(1 + static_cast<size_t>(Pick(3)), Pick(4));
    rule.hold = Pick(3);
    groups_[static_cast<size_t>(Pick(kGroups))].push_back(rule);
  }

  std::mt19937 random_;
  std::vector<RuleEdit> groups_[kGroups];
  int overridden_ = -1;
};

// Expected properties of a rule for the job, based on the rule set.
struct Expected {
  std::vector<std::pair<std::string, double>> parameters;
  std::string severity;
};
std::map<std::string, Expected> ExpectedOf(const CompiledRulesPtr& rules) {
  std::map<std::string, Expected> out;
  JobIdentity job;
  job.id = "job";
  for (size_t s = 0; s < rules->program()->domains.size(); ++s) {
    const plan::DomainPlan& domain = rules->program()->domains[s];
    const std::vector<double> values = rules->ParametersFor(s, job);
    for (const plan::Group& group : domain.groups) {
      for (const plan::Rule& rule : group.rules) {
        Expected& expected = out[rule.name];
        for (const uint32_t p : rule.parameters)
          expected.parameters.emplace_back(domain.parameters[p].name, values[p]);
        for (const plan::Template& label : rule.labels) expected.severity = label.text;
      }
    }
  }
  return out;
}

// Returns every field of the event as bytes, for exact comparison.
std::string Bits(const IssueEvent& e) {
  BinaryWriter out;
  for (const std::string* text : {&e.id, &e.rule, &e.alert, &e.severity, &e.summary, &e.incident,
                                  &e.root_cause, &e.status_reason})
    out.Str(*text);
  out.Str(e.labels.ToString());
  for (const int64_t number :
       {e.time.ns(), e.active_since.ns(), e.started_at.ns(), e.last_seen_at.ns(), e.ended_at.ns(),
        e.step, static_cast<int64_t>(e.attempt)})
    out.I64(number);
  for (const int kind : {static_cast<int>(e.type), static_cast<int>(e.end_reason),
                         static_cast<int>(e.status), static_cast<int>(e.previous_status)})
    out.U8(static_cast<uint8_t>(kind));
  out.U64(e.sequence);
  out.Double(e.value);
  out.Double(e.threshold.value_or(-1));
  for (const auto& [name, value] : e.parameters) {
    out.Str(name);
    out.Double(value);
  }
  for (const Evidence& evidence : e.evidence) {
    out.Str(evidence.name);
    out.Double(evidence.value);
  }
  out.Bool(e.ever_found);
  return out.Take();
}

// Checks invariants of one job's events under arbitrary rule edits.
class Checker {
 public:
  // `judged` contains the rules that were active at the last tick, and `now` the rules at the ticks
  // of these events.
  void Check(const std::vector<IssueEvent>& events, const std::map<std::string, Expected>& judged,
             const std::map<std::string, Expected>& now) {
    for (; seen_ < events.size(); ++seen_) {
      const IssueEvent& e = events[seen_];
      if (e.type == EventType::kJobChanged) continue;
      SCOPED_TRACE(Cat("event ", seen_, ": ", EventTypeName(e.type), " ", e.rule, " ",
                       EndReasonName(e.end_reason), " ", RuleStatusName(e.status)));
      EXPECT_TRUE(ids_.insert(e.id).second);
      if (e.type == EventType::kRuleStatus) {
        RuleStatus& last = statuses_[e.rule];
        EXPECT_EQ(RuleStatusName(e.previous_status),
                  RuleStatusName(last == RuleStatus::kStopped ? RuleStatus::kUnknown : last));
        last = e.status;
        continue;
      }
      const bool between_ticks = e.end_reason == EndReason::kRuleRemoved ||
                                 e.end_reason == EndReason::kAttemptEnded ||
                                 e.end_reason == EndReason::kJobEnded;
      const auto& rules = between_ticks ? judged : now;
      ASSERT_TRUE(rules.contains(e.rule));
      EXPECT_EQ(e.parameters, rules.at(e.rule).parameters);
      EXPECT_EQ(e.severity, rules.at(e.rule).severity);
      EXPECT_TRUE(pitwall::StartsWith(e.summary, Cat(e.alert, " text ")));
      const std::string issue = IssueId(e);
      if (e.type == EventType::kIssueFound) {
        EXPECT_EQ(e.sequence, 1U);
        EXPECT_TRUE(open_.emplace(issue, 1).second);
        continue;
      }
      ASSERT_TRUE(open_.contains(issue));
      EXPECT_EQ(e.sequence, ++open_[issue]);
      if (e.type == EventType::kIssueResolved) {
        open_.erase(issue);
        ++ends_[e.end_reason];
      }
    }
  }
  // Each removed rule must have reported its end.
  void CheckStopped(const std::map<std::string, Expected>& now) const {
    for (const auto& [rule, status] : statuses_) {
      if (now.contains(rule)) continue;
      EXPECT_EQ(RuleStatusName(status), "Stopped") << rule;
    }
  }
  size_t open() const { return open_.size(); }
  std::map<EndReason, int>& ends() { return ends_; }

 private:
  size_t seen_ = 0;
  std::set<std::string> ids_;
  std::map<std::string, RuleStatus> statuses_;
  std::map<std::string, uint64_t> open_;  // issue -> newest sequence number
  std::map<EndReason, int> ends_;
};

SourceInfo RankOf(int attempt) {
  SourceInfo info;
  info.kind = SourceKind::kRank;
  info.rank = 0;
  info.start = EventTime::FromNs(ShardForTest::At(0) + attempt);
  info.attempt = attempt;
  info.step_modes = {"train"};
  return info;
}

// Feeds a goodbye from the attempt's rank.
void FeedGoodbye(ShardForTest* shard, int second, int attempt) {
  Batch batch;
  batch.source = "rank-0";
  batch.boot_id = Cat("boot-", attempt);
  batch.info = RankOf(attempt);
  batch.goodbye = true;
  shard->Feed(batch, second - 0.5);
}

// Feeds one second of data for two GPUs from one rank that finishes a step.
void FeedTrouble(ShardForTest* shard, int second, int attempt, double first, double other) {
  const Schema schema =
      SchemaOf({{Labels({{kMetricName, "m"}, {"gpu", "0"}}), SeriesKind::kGauge},
                {Labels({{kMetricName, "m"}, {"gpu", "1"}}), SeriesKind::kGauge}});
  const int64_t times[] = {ShardForTest::At(second)};
  const int64_t steps[] = {second};
  const double values[] = {first, other};
  Batch batch;
  batch.source = "rank-0";
  batch.boot_id = Cat("boot-", attempt);
  batch.info = RankOf(attempt);
  batch.schemas.push_back(schema);
  batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
  batch.frames.back().steps = steps;
  batch.frames.back().mode = "train";
  batch.step_promises.push_back({"train", second});
  shard->Feed(batch, second);
}

TEST(RuleChangeRandomTest, EventsMatchTheirRulesAcrossRestarts) {
  std::map<EndReason, int> ends;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(Cat("seed ", seed));
    Edits edits(seed);
    CompiledRulesPtr rules = *CompiledRules::Compile(edits.Text());
    ShardForTest straight(rules), restarted(rules);
    Checker checker;
    auto now = ExpectedOf(rules);
    auto judged = now;
    int attempt = 1;
    for (int second = 1; second <= 100 && !testing::Test::HasFailure(); ++second) {
      if (second > 1 && edits.Pick(25) == 0) {
        for (ShardForTest* shard : {&straight, &restarted}) FeedGoodbye(shard, second, attempt);
        ++attempt;
      }
      const double first = edits.Pick(20) == 0 ? 0 : 9;
      const double other = edits.Pick(3) * 4;
      for (ShardForTest* shard : {&straight, &restarted})
        FeedTrouble(shard, second, attempt, first, other);
      checker.Check(straight.outputs().events, judged, now);
      judged = now;
      // Some rules change twice without a tick in between.
      for (int changes = edits.Pick(4); changes > 1; --changes) {
        for (int n = edits.Pick(3); n >= 0; --n) edits.Edit();
        rules = *CompiledRules::Compile(edits.Text());
        now = ExpectedOf(rules);
        if (edits.Pick(3) == 0) restarted.Restart();
        for (ShardForTest* shard : {&straight, &restarted}) shard->ChangeRules(rules);
        checker.Check(straight.outputs().events, judged, now);
        checker.CheckStopped(now);
      }
      if (edits.Pick(3) == 0) restarted.Restart();
    }
    EventSink end;
    straight.shard().FinishInput(/*end_jobs=*/true, &end);
    std::vector<IssueEvent> events = straight.outputs().events;
    events.insert(events.end(), end.events.begin(), end.events.end());
    checker.Check(events, judged, now);
    EXPECT_EQ(checker.open(), 0U);
    for (const auto& [reason, count] : checker.ends()) ends[reason] += count;

    const auto& a = straight.outputs().events;
    const auto& b = restarted.outputs().events;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(Bits(a[i]), Bits(b[i])) << i << " " << a[i].rule;
    if (testing::Test::HasFailure()) break;
  }
  // Each end reason must have occurred often enough for the test to be meaningful.
  for (const EndReason reason : {EndReason::kCleared, EndReason::kAttemptEnded,
                                 EndReason::kJobEnded, EndReason::kRuleRemoved})
    EXPECT_GE(ends[reason], 10) << EndReasonName(reason);
}

}  // namespace
}  // namespace pitwall::engine
