// Tests for recording rules, their limits, and their stale markers. The behavior matches Prometheus
// (rules/group.go).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/engine/domain/clock_domain.h"
#include "services/engine/testing/engine_feed.h"
#include "services/model/value.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = kNanosPerSecond;

// Domain that reads series m{i="…"}. Reports the recorded samples and failed rules at each tick.
class DomainPlan final : public RuleObserver {
 public:
  explicit DomainPlan(std::string_view rules) : program_(ProgramForTest(rules)) {
    runner_.emplace(program_, 0, EngineOptions{}, &counters_);
    runner_->evaluator().SetObserver(this);
    runner_->ticks().SetOrigin(Position::FromNs(kSecond));
  }

  void Failed(const plan::Rule& rule, const Status& error) override {
    reports_.push_back(Cat(rule.alert, " fails: ", ToStd(error.message())));
  }
  void Alerts(const alert::AlertInput&, const alert::AlertState&) override {}
  void Recorded(const Labels& labels, Position, double value) override {
    reports_.push_back(Cat(labels.ToString(), " ", IsStale(value) ? "stale" : FormatDouble(value)));
  }

  void Feed(int64_t milliseconds, const std::map<std::string, double>& samples) {
    for (const auto& [i, value] : samples) {
      const auto id = runner_->store()->Intern(Labels({{kMetricName, "m"}, {"i", i}}));
      PITWALL_CHECK(id.ok());
      const window::SeriesId ids[] = {*id};
      const double values[] = {value};
      PITWALL_CHECK(
          runner_->store()
              ->Append({Position() + Duration::Millis(milliseconds), "s", "", ++sequence_}, ids,
                       values)
              .ok());
    }
  }
  // Appends samples of m at this second, evaluates the tick, and returns the recorded samples and
  // failed rules.
  std::vector<std::string> Tick(int64_t second, const std::map<std::string, double>& samples) {
    Feed(second * 1000, samples);
    reports_.clear();
    EventSink out;
    EXPECT_EQ(runner_->ticks().NextTick(), Position::FromNs(second * kSecond));
    runner_->Evaluate({.position = Position::FromNs(second * kSecond),
                       .time = EventTime::FromNs(second * kSecond)},
                      job_, &out);
    return reports_;
  }
  void Reload(int64_t second, std::string_view rules) {
    program_ = ProgramForTest(rules);
    EventSink out;
    runner_->Replace(program_, 0, {.position = Position::FromNs(second * kSecond)}, job_, &out);
  }

 private:
  plan::ProgramPtr program_;
  EngineCounters counters_;
  const JobIdentity job_{.id = "job"};
  std::optional<ClockDomain> runner_;
  uint64_t sequence_ = 0;
  std::vector<std::string> reports_;
};

constexpr char kReader[] = "- {alert: Reads, expr: 'count(r) < 0', for: 1h}\n";

std::string Group(std::string_view head, std::string_view rules) {
  std::string text = Cat("groups:\n- name: g\n  interval: 1s\n", head, "  rules:\n");
  for (const std::string_view line : Split(rules, '\n')) {
    if (!line.empty()) CatTo(text, "  ", line, "\n");
  }
  return text;
}

TEST(ClockDomainRecordTest, LimitBoundsRecordedSeries) {
  DomainPlan domain(Group("  limit: 2\n", Cat("- {record: r, expr: m}\n", kReader)));
  EXPECT_THAT(domain.Tick(1, {{"1", 1}, {"2", 2}}), ElementsAre("r{i=\"1\"} 1", "r{i=\"2\"} 2"));
  // The failed tick counts as not evaluated, so it does not end any series.
  EXPECT_THAT(domain.Tick(2, {{"3", 3}}),
              ElementsAre("r fails: exceeded limit of 2 with 3 series"));
  EXPECT_THAT(domain.Tick(3, {{"1", StaleMarker()}}),
              ElementsAre("r{i=\"1\"} stale", "r{i=\"2\"} 2", "r{i=\"3\"} 3"));
}

TEST(ClockDomainRecordTest, DuplicateOutputsFailEvenIfUnread) {
  DomainPlan domain(Group("", "- {record: r, expr: m, labels: {i: same}}\n"));
  EXPECT_THAT(domain.Tick(1, {{"1", 1}}), IsEmpty());
  EXPECT_THAT(
      domain.Tick(2, {{"2", 2}}),
      ElementsAre(
          "r fails: vector contains metrics with the same labelset after applying rule labels"));
}

TEST(ClockDomainRecordTest, LimitCountsUnreadSeries) {
  DomainPlan domain(Group("  limit: 1\n", "- {record: r, expr: m}\n"));
  EXPECT_THAT(domain.Tick(1, {{"1", 1}, {"2", 1}}),
              ElementsAre("r fails: exceeded limit of 1 with 2 series"));
}

TEST(ClockDomainRecordTest, EditedRuleEndsItsSeriesBeforeLaterRulesReadThem) {
  constexpr char kSum[] = "- {record: s, expr: sum(r)}\n- {alert: A, expr: s > 100}\n";
  DomainPlan domain(Group("", Cat("- {record: r, expr: m}\n", kSum)));
  EXPECT_THAT(domain.Tick(1, {{"1", 1}, {"2", 5}}),
              ElementsAre("r{i=\"1\"} 1", "r{i=\"2\"} 5", "s 6"));
  domain.Reload(1, Group("", Cat("- {record: r, expr: m > 3}\n", kSum)));
  EXPECT_THAT(domain.Tick(2, {{"1", 1}, {"2", 5}}),
              ElementsAre("r{i=\"1\"} stale", "r{i=\"2\"} 5", "s 5"));
}

TEST(ClockDomainRecordTest, RemovedRule_SeriesEndAtNextGroupEvaluation) {
  DomainPlan domain(Group("", Cat("- {record: r, expr: m}\n", kReader)));
  EXPECT_THAT(domain.Tick(1, {{"1", 1}}), ElementsAre("r{i=\"1\"} 1"));
  // Another group is due earlier but has no series to end.
  domain.Reload(
      1,
      Cat("groups:\n- name: often\n  interval: 1s\n  rules:\n",
          "  - {alert: B, expr: vector(1) < 0}\n- name: g\n  interval: 3s\n  rules:\n  ", kReader));
  EXPECT_THAT(domain.Tick(2, {}), IsEmpty());
  EXPECT_THAT(domain.Tick(3, {}), ElementsAre("r{i=\"1\"} stale"));
  EXPECT_THAT(domain.Tick(4, {}), IsEmpty());
}

TEST(ClockDomainRecordTest, SharedSeriesIsEndedByRuleThatWroteIt) {
  DomainPlan domain(Group(
      "", Cat("- {record: r, expr: 'sum(m)'}\n- {record: r, expr: 'max(m) > 3'}\n", kReader)));
  EXPECT_THAT(domain.Tick(1, {{"1", 4}, {"2", 4}}),
              ElementsAre("r 8", "r 4"));  // The first value wins.
  EXPECT_THAT(domain.Tick(2, {{"1", 1}, {"2", 1}}), ElementsAre("r 2"));
}

// A window may contain samples that an instant selector no longer sees. Needs derived from the
// expression must not suppress the result of such a window.
TEST(ClockDomainRecordTest, DerivedNeedsDoNotSuppressResults) {
  const auto rules = [](std::string_view needs) {
    return Group("", Cat("- {alert: A, expr: 'last_over_time(m[10s]) > 3'", needs,
                         "}\n- {alert: Reads, expr: 'count(ALERTS) < 0'}\n"));
  };
  const std::map<std::string, double> gone = {{"1", StaleMarker()}};
  DomainPlan domain(rules(""));
  domain.Feed(500, {{"1", 4}});
  EXPECT_THAT(domain.Tick(1, gone),
              ElementsAre("ALERTS{alertname=\"A\",alertstate=\"firing\",i=\"1\"} 1"));
  DomainPlan listed(rules(", needs: [m]"));
  listed.Feed(500, {{"1", 4}});
  EXPECT_THAT(listed.Tick(1, gone), IsEmpty());
}

}  // namespace
}  // namespace pitwall::engine
