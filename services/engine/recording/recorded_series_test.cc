#include "services/engine/recording/recorded_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/engine/testing/engine_feed.h"
#include "services/model/value.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kTwoRecords[] = R"rules(
groups:
- {name: g, interval: 1s, rules: [{record: a, expr: m}, {record: b, expr: m}]}
- {name: h, interval: 1s, rules: [{record: c, expr: m}]}
- {name: reader, interval: 1s, rules: [{alert: A, expr: "{__name__=~\"a|b|c\"} > 1"}]}
)rules";

// Recorded series in one program. The tests write the series directly.
class RecordedSeriesTest : public testing::Test, public RuleObserver {
 protected:
  RecordedSeriesTest() : program_(ProgramForTest(kTwoRecords)), recorded_(domain()) {}

  const plan::DomainPlan& domain() const { return program_->domains[0]; }

  void Failed(const plan::Rule&, const Status&) override {}
  void Alerts(const alert::AlertInput&, const alert::AlertState&) override {}
  void Recorded(const Labels& labels, Position, double value) override {
    written_.push_back(Cat(labels.ToString(), " ", IsStale(value) ? "stale" : FormatDouble(value)));
  }

  void BeginTick() {
    tick_ = tick_.Next();
    store_.SealTo(tick_);
    store_.BeginTick(tick_);
    written_.clear();
  }
  // Records one element of the rule for each value of label x.
  Status Record(RecordedSeries* recorded, const plan::DomainPlan& domain, size_t group, size_t rule,
                const std::vector<std::string>& xs, uint32_t limit = 0) {
    std::vector<Labels> labels;
    for (const std::string& x : xs) labels.push_back(Labels({{"x", x}}));
    const eval::LabelColumnPtr column = eval::LabelColumn::Of(std::move(labels));
    const std::vector<double> values(xs.size(), 1);
    const std::vector<uint8_t> present(xs.size(), 1);
    eval::Vector result;
    result.column = column;
    result.binding = column->binding();
    result.values = values;
    result.present = present;
    SeriesWriter writer(&store_, this);
    RuleOutput* output = recorded->OutputOf(group, rule);
    Status status =
        output->Collect(domain.groups[group].rules[rule], limit, result, tick_, &writer);
    if (status.ok()) output->Flush(tick_, &writer);
    return status;
  }
  std::vector<std::string> EndOrphans(RecordedSeries* recorded, size_t group) {
    SeriesWriter writer(&store_, this);
    written_.clear();
    recorded->EndOrphans(group, tick_, &writer);
    return written_;
  }

  plan::ProgramPtr program_;
  window::SeriesStore store_{
      std::shared_ptr<const DemandSet>(program_, &program_->domains[0].demands), {}};
  RecordedSeries recorded_;
  Position tick_;
  std::vector<std::string> written_;
};

TEST_F(RecordedSeriesTest, SeriesMissingAtTick_GetsStaleMarker) {
  BeginTick();
  EXPECT_TRUE(Record(&recorded_, domain(), 0, 0, {"1", "2"}).ok());
  EXPECT_THAT(written_, ElementsAre("a{x=\"1\"} 1", "a{x=\"2\"} 1"));
  BeginTick();
  EXPECT_TRUE(Record(&recorded_, domain(), 0, 0, {"2"}).ok());
  EXPECT_THAT(written_, ElementsAre("a{x=\"1\"} stale", "a{x=\"2\"} 1"));
}

TEST_F(RecordedSeriesTest, TooManyElements_NothingIsWritten) {
  BeginTick();
  EXPECT_TRUE(absl::IsResourceExhausted(Record(&recorded_, domain(), 0, 0, {"1", "2"}, 1)));
  EXPECT_THAT(written_, IsEmpty());
}

TEST_F(RecordedSeriesTest, RemovedSeries_GetsNoStaleMarker) {
  BeginTick();
  EXPECT_TRUE(Record(&recorded_, domain(), 0, 0, {"1"}).ok());
  const std::vector<window::SeriesId> forgotten = recorded_.OutputOf(0, 0)->written();
  recorded_.Forget(forgotten);
  BeginTick();
  EXPECT_TRUE(Record(&recorded_, domain(), 0, 0, {}).ok());
  EXPECT_THAT(written_, IsEmpty());
}

TEST_F(RecordedSeriesTest, Reload_RuleInheritsSeriesOfSameName) {
  BeginTick();
  EXPECT_TRUE(Record(&recorded_, domain(), 0, 0, {"1"}).ok());
  EXPECT_TRUE(Record(&recorded_, domain(), 0, 1, {"1"}).ok());
  EXPECT_TRUE(Record(&recorded_, domain(), 1, 0, {"1"}).ok());
  const plan::ProgramPtr next = ProgramForTest(R"rules(
groups:
- {name: g, interval: 1s, rules: [{record: b, expr: "m > 5"}]}
)rules");
  RecordedSeries recorded(next->domains[0]);
  const std::vector<window::SeriesId> ended =
      recorded.Inherit(&recorded_, domain(), next->domains[0]);
  ASSERT_EQ(ended.size(), 1u) << "group h was removed";
  EXPECT_EQ(store_.series().LabelsOf(ended[0])->ToString(), "c{x=\"1\"}");
  BeginTick();
  EXPECT_TRUE(Record(&recorded, next->domains[0], 0, 0, {}).ok());
  EXPECT_THAT(written_, ElementsAre("b{x=\"1\"} stale"));
  EXPECT_THAT(EndOrphans(&recorded, 0), ElementsAre("a{x=\"1\"} stale"));
  EXPECT_THAT(EndOrphans(&recorded, 0), IsEmpty());
}

TEST_F(RecordedSeriesTest, OrphanWrittenByAnotherRule_GetsNoStaleMarker) {
  BeginTick();
  EXPECT_TRUE(Record(&recorded_, domain(), 0, 0, {"1"}).ok());
  const plan::ProgramPtr next = ProgramForTest(R"rules(
groups:
- {name: g, interval: 1s, rules: [{record: b, expr: m}]}
- {name: other, interval: 1s, rules: [{record: a, expr: m}]}
)rules");
  RecordedSeries recorded(next->domains[0]);
  EXPECT_THAT(recorded.Inherit(&recorded_, domain(), next->domains[0]), IsEmpty());
  BeginTick();
  EXPECT_TRUE(Record(&recorded, next->domains[0], 1, 0, {"1"}).ok());
  EXPECT_THAT(EndOrphans(&recorded, 0), IsEmpty());
}

}  // namespace
}  // namespace pitwall::engine
