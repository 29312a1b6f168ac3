// Tests for rule changes in a running job. Each event of a rule that is no longer active must have
// the properties of that rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "services/base/time.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Parts of a rule, so that a test can edit it in one line.
struct RuleText {
  std::string name;
  std::string params;  // "limit: 1, other: 2"; the first parameter is the threshold
  std::string more = "";
};
struct GroupText {
  std::string name;
  bool step = false;
  std::vector<RuleText> rules;
};

std::string File(const std::vector<GroupText>& groups) {
  std::string out = "groups:\n";
  for (const GroupText& group : groups) {
    CatTo(out, "- name: ", group.name, "\n  ",
          group.step ? "clock: step\n  interval: 1" : "interval: 1s", "\n  rules:\n");
    for (const RuleText& rule : group.rules) {
      std::string limit, expression;
      for (const std::string_view param : Split(rule.params, ',')) {
        const std::string name(Trim(param.substr(0, param.find(':'))));
        if (limit.empty()) limit = name;
        CatTo(expression, expression.empty() ? "m > $" : " and m > -$", name);
      }
      CatTo(out, "  - alert: ", rule.name, "\n    params: {", rule.params,
            "}\n    expr: ", expression, "\n    annotations: {summary: '", rule.name,
            " {{ $value }} above {{ $params.", limit, " }}'}\n", rule.more);
    }
  }
  return out;
}

// Returns two groups on the time clock and one group on the step clock. The rules have different
// parameters.
std::vector<GroupText> Before() {
  return {{"one", false, {{"A", "a: 1, a2: 11"}, {"B", "b: 2"}}},
          {"two", false, {{"C", "c: 3, c2: 13, c3: 23"}}},
          {"steps", true, {{"S", "s: 4, s2: 14"}, {"T", "t: 5"}}}};
}

// One rank with m = 9. This value triggers every alert at every second and step.
class Trouble {
 public:
  explicit Trouble(const std::vector<GroupText>& groups) : shard_(File(groups)) { Run(10); }

  void Run(int seconds) {
    const int first = std::exchange(second_, second_ + seconds) + 1;
    shard_.Play(Cat("rank-0 steps ", first, "..", second_, " m{}=9 @", first, "s"));
  }
  void Change(const std::vector<GroupText>& groups) {
    seen_ = shard_.outputs().events.size();
    shard_.ChangeRules(File(groups));
  }
  ShardForTest& shard() { return shard_; }

  // Returns the issue events since the last change, such as "resolved one/A rule_removed a=1 a2=11
  // | A 9 above 1", and stops such as "Stopped one/A after IssuesFound". Omits other statuses.
  std::vector<std::string> NewEvents() const {
    std::vector<std::string> out;
    const auto& events = shard_.outputs().events;
    for (size_t i = seen_; i < events.size(); ++i) {
      const IssueEvent& e = events[i];
      const std::string rule = e.rule.substr(e.rule.find('/') + 1);
      if (e.type == EventType::kRuleStatus) {
        if (e.status == RuleStatus::kStopped)
          out.push_back(Cat("Stopped ", rule, " after ", RuleStatusName(e.previous_status)));
        continue;
      }
      std::string line = Cat(EventTypeName(e.type).substr(17), " ", rule);
      if (e.end_reason != EndReason::kNone) CatTo(line, " ", EndReasonName(e.end_reason));
      for (const auto& [name, value] : e.parameters)
        CatTo(line, " ", name, "=", FormatDouble(value));
      out.push_back(Cat(line, " | ", e.summary));
    }
    return out;
  }

 private:
  ShardForTest shard_;
  int second_ = 0;
  size_t seen_ = 0;
};

const std::vector<std::string> kEnds = {"resolved one/A rule_removed a=1 a2=11 | A 9 above 1",
                                        "resolved one/B rule_removed b=2 | B 9 above 2",
                                        "resolved two/C rule_removed c=3 c2=13 c3=23 | C 9 above 3",
                                        "resolved steps/S rule_removed s=4 s2=14 | S 9 above 4",
                                        "resolved steps/T rule_removed t=5 | T 9 above 5"};
std::string Stopped(const std::string& rule) { return Cat("Stopped ", rule, " after IssuesFound"); }

// In the new program, a removed rule's parameters have different indexes or do not exist.
TEST(RuleChangeTest, RemovedRuleEndsWithItsOwnParameters) {
  const char* names[] = {"one/A", "one/B", "two/C", "steps/S", "steps/T"};
  for (size_t gone = 0; gone < 5; ++gone) {
    for (const bool restart : {false, true}) {
      Trouble job(Before());
      std::vector<GroupText> after = Before();
      size_t i = 0;
      for (GroupText& group : after)
        std::erase_if(group.rules, [&](const RuleText&) { return i++ == gone; });
      std::erase_if(after, [](const GroupText& group) { return group.rules.empty(); });
      if (restart) job.shard().Restart();
      job.Change(after);
      if (restart) job.shard().Restart();
      job.Run(3);
      EXPECT_THAT(job.NewEvents(), ElementsAre(kEnds[gone], Stopped(names[gone])));
    }
  }
}

TEST(RuleChangeTest, AllRulesAreRemoved) {
  Trouble job(Before());
  job.Change({{"none", false, {{"Z", "z: 100"}}}});
  EXPECT_THAT(job.NewEvents(), ElementsAre(kEnds[0], Stopped("one/A"), kEnds[1], Stopped("one/B"),
                                           kEnds[2], Stopped("two/C"), kEnds[3], Stopped("steps/S"),
                                           kEnds[4], Stopped("steps/T")));
}

TEST(RuleChangeTest, RemovedTimeClock_EndsIssuesAndStopsRules) {
  Trouble job(Before());
  job.Change({Before()[2]});
  EXPECT_THAT(job.NewEvents(), UnorderedElementsAre(kEnds[0], kEnds[1], kEnds[2], Stopped("one/A"),
                                                    Stopped("one/B"), Stopped("two/C")));
  job.Run(5);
  job.Change(Before());
  job.Run(1);
  EXPECT_THAT(job.NewEvents(),
              ElementsAre("found one/A a=1 a2=11 | A 9 above 1", "found one/B b=2 | B 9 above 2",
                          "found two/C c=3 c2=13 c3=23 | C 9 above 3"));
}

TEST(RuleChangeTest, RenamedRulesEndAndStart) {
  Trouble job(Before());
  std::vector<GroupText> after = Before();
  after[0].rules[0].name = "Renamed";
  after[1].name = "moved";
  after[2].rules[1].name = "Other";
  job.Change(after);
  job.Run(2);
  EXPECT_THAT(
      job.NewEvents(),
      UnorderedElementsAre(kEnds[0], Stopped("one/A"), kEnds[2], Stopped("two/C"), kEnds[4],
                           Stopped("steps/T"), "found one/Renamed a=1 a2=11 | Renamed 9 above 1",
                           "found moved/C c=3 c2=13 c3=23 | C 9 above 3",
                           "found steps/Other t=5 | Other 9 above 5"));
}

TEST(RuleChangeTest, ReorderedRulesDoNotEmitEvents) {
  Trouble job(Before());
  std::vector<GroupText> after = Before();
  std::swap(after[0].rules[0], after[0].rules[1]);
  std::swap(after[0], after[2]);
  std::swap(after[0].rules[0], after[0].rules[1]);
  job.Change(after);
  job.Run(3);
  EXPECT_THAT(job.NewEvents(), IsEmpty());
}

TEST(RuleChangeTest, ChangedParameters_IssueEndsWithOldParameters) {
  for (const char* params : {"c: 3.5, c2: 13, c3: 23", "c: 3", "c: 3, c2: 13, c3: 23, c4: 33",
                             "c: 3, other: 13, c3: 23"}) {
    Trouble job(Before());
    std::vector<GroupText> after = Before();
    after[1].rules[0].params = params;
    job.Change(after);
    EXPECT_THAT(job.NewEvents(), ElementsAre(kEnds[2])) << params;
    job.Run(1);
    EXPECT_THAT(job.NewEvents(), ElementsAre(kEnds[2], HasSubstr("found two/C c=3"))) << params;
  }
}

TEST(RuleChangeTest, ChangedForOrLabels_IssueEndsUnderOldRule) {
  for (const char* more : {"    for: 2s\n", "    keep_firing_for: 5s\n",
                           "    labels: {severity: critical}\n", "    scope: attempt\n"}) {
    Trouble job(Before());
    std::vector<GroupText> after = Before();
    after[0].rules[0].more = more;
    job.Change(after);
    EXPECT_THAT(job.NewEvents(), ElementsAre(kEnds[0])) << more;
  }
}

// The rule keeps its name but moves to another clock, so the issue found on the time clock ends.
TEST(RuleChangeTest, RuleMovesToAnotherClock_IssueEnds) {
  Trouble job(Before());
  std::vector<GroupText> after = Before();
  after[1].step = true;
  after.erase(after.begin());
  job.Change(after);
  job.Run(2);
  EXPECT_THAT(job.NewEvents(),
              UnorderedElementsAre(kEnds[0], Stopped("one/A"), kEnds[1], Stopped("one/B"), kEnds[2],
                                   Stopped("two/C"), "found two/C c=3 c2=13 c3=23 | C 9 above 3"));
}

// An issue may survive the first change but end before the new rules evaluate a tick. In that case,
// only the old rules have evaluated it.
TEST(RuleChangeTest, ContinuedIssueEndsWithEvaluatedParameters) {
  Trouble job(Before());
  std::vector<GroupText> after = Before();
  after[0].rules[0].more =
      "    labels: {severity: info}\n";  // The neighboring rules are unchanged.
  for (GroupText& group : after) {
    for (RuleText& rule : group.rules) {
      // The values are unchanged. Only the text differs.
      rule.more += "    explains: [Nothing]\n";
    }
  }
  job.Change(after);
  EXPECT_THAT(job.NewEvents(), ElementsAre(kEnds[0]));
  job.Change({{"none", false, {{"Z", "z: 100"}}}});
  EXPECT_THAT(job.NewEvents(), IsSupersetOf({kEnds[1], kEnds[2], kEnds[3], kEnds[4]}));
  EXPECT_THAT(job.NewEvents(), Each(Not(HasSubstr("resolved one/A"))));
}

// No event may be emitted for a rule that is added and removed before its first evaluation.
TEST(RuleChangeTest, RuleNeverEvaluated_IsNotStopped) {
  Trouble job(Before());
  std::vector<GroupText> after = Before();
  after[0].rules.push_back({"New", "n: 1"});
  job.Change(after);
  EXPECT_THAT(job.NewEvents(), IsEmpty());
  job.Change(Before());
  EXPECT_THAT(job.NewEvents(), IsEmpty());
}

// Issue 10, A1: an issue that ends between ticks has the values of the last evaluation.
TEST(RuleChangeTest, EndBetweenTicksHasThresholdAndEvidence) {
  for (const bool restart : {false, true}) {
    for (const bool job_ends : {false, true}) {
      Trouble job(Before());
      if (restart) job.shard().Restart();
      if (job_ends) {
        job.shard().Play("rank-0 ends completed @10.25s");
      } else {
        job.Change({{"other", false, {{"O", "o: 100"}}}});
      }
      std::map<std::string, IssueEvent> found;
      size_t ended = 0;
      for (const IssueEvent& event : job.shard().outputs().events) {
        if (event.type == EventType::kIssueFound) found[event.alert] = event;
        if (event.type != EventType::kIssueResolved) continue;
        ++ended;
        const IssueEvent& begin = found.at(event.alert);
        EXPECT_TRUE(begin.threshold.has_value());
        EXPECT_EQ(event.threshold, begin.threshold) << event.alert << " " << restart << job_ends;
        ASSERT_FALSE(begin.evidence.empty());
        ASSERT_EQ(event.evidence.size(), begin.evidence.size())
            << event.alert << restart << job_ends;
        for (size_t i = 0; i < begin.evidence.size(); ++i) {
          EXPECT_EQ(event.evidence[i].name, begin.evidence[i].name);
          EXPECT_EQ(event.evidence[i].labels, begin.evidence[i].labels);
          EXPECT_EQ(event.evidence[i].value, begin.evidence[i].value);
        }
      }
      EXPECT_EQ(ended, 5U) << restart << job_ends;
    }
  }
}

// Windows can be read only at their group's ticks, but the job's last tick belonged to another
// group.
TEST(RuleChangeTest, EndBetweenTicksOfSlowGroup_HasNoEvidence) {
  ShardForTest shard(R"(groups:
- name: fast
  interval: 1s
  rules:
  - {alert: Fast, expr: "m > 1"}
- name: slow
  interval: 4s
  rules:
  - {alert: Slow, expr: "quantile_over_time(0.5, m[4s]) > 1"}
)");
  shard.Play("node-a sends m=9 @1s..10s");
  EventSink out;
  shard.shard().FinishInput(/*end_jobs=*/true, &out);
  std::map<std::string, size_t> evidence;
  for (const IssueEvent& event : out.events) {
    if (event.type == EventType::kIssueResolved) evidence[event.alert] = event.evidence.size();
  }
  EXPECT_EQ(evidence, (std::map<std::string, size_t>{{"Fast", 1}, {"Slow", 0}}));
}

}  // namespace
}  // namespace pitwall::engine
