#include <gtest/gtest.h>

#include <compare>
#include <utility>

#include "absl/hash/hash.h"
#include "services/model/issues/issue.h"
#include "services/model/labels.h"
#include "services/model/matcher.h"
#include "services/model/position.h"
#include "services/model/telemetry.h"
#include "services/model/value.h"
#include "services/model/windows/demand.h"
#include "services/model/windows/pane_grid.h"

namespace pitwall {
namespace {

TEST(Labels, AreSortedWithoutEmptyValues) {
  const Labels labels({{"b", "2"}, {"__name__", "m"}, {"a", "1"}, {"c", ""}});
  EXPECT_EQ(labels.ToString(), "m{a=\"1\",b=\"2\"}");
  EXPECT_EQ(labels.Get("c"), "");
  EXPECT_EQ(labels.With("a", "").DropName().ToString(), "{b=\"2\"}");
  EXPECT_LT(Labels({{"a", "1"}}), Labels({{"a", "1"}, {"b", "0"}}));
  EXPECT_LT(Labels({{"a", "1"}, {"z", "9"}}), Labels({{"a", "2"}}));
  EXPECT_EQ(Labels().ToString(), "{}");
}

TEST(Labels, WithInsertsInOrder) {
  const Labels labels({{"b", "2"}, {"d", "4"}});
  EXPECT_EQ(labels.With("a", "1").ToString(), "{a=\"1\",b=\"2\",d=\"4\"}");
  EXPECT_EQ(labels.With("c", "3").ToString(), "{b=\"2\",c=\"3\",d=\"4\"}");
  EXPECT_EQ(labels.With("e", "5").ToString(), "{b=\"2\",d=\"4\",e=\"5\"}");
  EXPECT_EQ(labels.With("b", "9").ToString(), "{b=\"9\",d=\"4\"}");
  EXPECT_EQ(labels.With("d", "").ToString(), "{b=\"2\"}");
  EXPECT_EQ(labels.With("x", ""), labels);
  EXPECT_EQ(labels.With("b", "").With("d", ""), Labels());
}

TEST(Labels, CopiesAndEqualSetsHashEqually) {
  const Labels labels({{"a", "1"}, {"b", "2"}});
  const Labels copy = labels, equal = Labels({{"a", "1"}}).With("b", "2");
  EXPECT_EQ(copy.begin(), labels.begin());
  EXPECT_NE(equal.begin(), labels.begin());
  EXPECT_EQ(equal, labels);
  EXPECT_EQ(equal <=> labels, std::strong_ordering::equal);
  for (const Labels& other : {Labels(), Labels({{"a", "1"}}), Labels({{"a", "12"}, {"b", ""}}),
                              Labels({{"a", "1"}, {"b", "3"}}), Labels({{"a", "1"}, {"c", "2"}})}) {
    EXPECT_NE(other, labels);
    EXPECT_NE(absl::HashOf(other), absl::HashOf(labels));
  }
  EXPECT_EQ(absl::HashOf(equal), absl::HashOf(labels));
  // Moved-from labels are empty and can be assigned again.
  Labels from = labels;
  Labels to = std::move(from);
  EXPECT_EQ(to, labels);
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(from, Labels());
  EXPECT_EQ(absl::HashOf(from), absl::HashOf(Labels()));
  from = std::move(to);
  EXPECT_EQ(from, labels);
  EXPECT_EQ(from.DropName().begin(), labels.begin());  // there is no name to drop
}

TEST(Matcher, RegexIsAnchoredAndAbsentLabelIsEmpty) {
  EXPECT_FALSE(Matcher::Make("a", MatchOp::kRegex, "b")->Matches("abc"));
  EXPECT_TRUE(Matcher::Make("a", MatchOp::kRegex, "b|")->Matches(""));
  EXPECT_TRUE(Matcher::Make("a", MatchOp::kNotRegex, "b.*")->Matches("ab"));
  EXPECT_FALSE(Matcher::Make("a", MatchOp::kRegex, "(").ok());
  Selector s{
      {*Matcher::Make("__name__", MatchOp::kEqual, "m"), *Matcher::Make("x", MatchOp::kEqual, "")}};
  EXPECT_TRUE(s.Matches(Labels({{"__name__", "m"}})));
  EXPECT_FALSE(s.Matches(Labels({{"__name__", "m"}, {"x", "1"}})));
  EXPECT_EQ(s.MetricName(), "m");
}

TEST(Position, FloorAndNextWorkForNegativePositions) {
  EXPECT_EQ(FloorTo(7, 5), 5);
  EXPECT_EQ(FloorTo(-1, 5), -5);
  EXPECT_EQ(FloorTo(5, 5), 5);
  EXPECT_EQ(NextAfter(5, 5), 10);
}

TEST(Value, SpecialNansDifferByBits) {
  EXPECT_TRUE(IsStale(StaleMarker()));
  EXPECT_FALSE(IsStale(NormalNan()));
  EXPECT_FALSE(IsStale(MissingValue()));
  EXPECT_TRUE(IsMissing(MissingValue()));
  EXPECT_TRUE(std::isnan(StaleMarker()));
}

TEST(SchemaId, DependsOnStreamOrderAndKind) {
  const SeriesDescriptor a{Labels({{"__name__", "a"}}), SeriesKind::kGauge};
  const SeriesDescriptor b{Labels({{"__name__", "b"}}), SeriesKind::kGauge};
  const std::vector<SeriesDescriptor> ab = {a, b}, ba = {b, a};
  EXPECT_NE(SchemaId(0, ab), SchemaId(0, ba));
  EXPECT_NE(SchemaId(0, ab), SchemaId(1, ab));
  EXPECT_EQ(SchemaId(0, ab), SchemaId(0, ab));
}

// Windows start and end at pane boundaries, regardless of the window length, and there are no other
// boundaries.
TEST(PaneGrid, EveryWindowConsistsOfWholePanes) {
  for (const int64_t interval : {1, 7, 10}) {
    for (const int64_t range : {1, 3, 7, 10, 14, 25, 100}) {
      for (const int64_t offset : {0, 1, 7, 13}) {
        for (const int64_t origin : {0, 4}) {
          Demand demand;
          demand.kind = WindowKind::kTime;
          demand.interval = interval;
          demand.range = range;
          demand.offset = offset;
          demand.align_job = true;
          const WindowShape shape = ShapeOf(demand, Position::FromNs(origin));
          EXPECT_LE(shape.panes.count,
                    range % interval == 0 ? range / interval : 2 * (range / interval) + 1);
          for (int64_t tick = origin - 5 * interval; tick < origin + 50; tick += interval) {
            const PaneIndex last = shape.grid.IndexOf(Position::FromNs(tick)) - shape.panes.delay;
            EXPECT_EQ(shape.grid.EndOf(last).ns(), tick - offset);
            EXPECT_EQ(shape.grid.EndOf(last - shape.panes.count).ns(), tick - offset - range);
          }
          for (int64_t p = -30; p < 30; ++p) {
            const PaneIndex index = shape.grid.IndexOf(Position::FromNs(p));
            EXPECT_LE(p, shape.grid.EndOf(index).ns());
            EXPECT_GT(p, shape.grid.EndOf(index - 1).ns());
          }
        }
      }
    }
  }
}

TEST(IssueEvent, IdDependsOnContentOnly) {
  IssueEvent e;
  e.job = "j";
  e.rule = "p/g/a";
  e.sequence = 1;
  const std::string id = MakeEventId(e);
  e.value = 5;
  EXPECT_EQ(MakeEventId(e), id);
  e.sequence = 2;
  EXPECT_NE(MakeEventId(e), id);
}

}  // namespace
}  // namespace pitwall
