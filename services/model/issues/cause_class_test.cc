#include "services/model/issues/cause_class.h"

#include <gtest/gtest.h>

namespace pitwall {
namespace {

Labels With(std::string_view category, std::string_view severity, std::string_view rank = "") {
  return Labels({{"category", category}, {"severity", severity}, {"rank", rank}});
}

TEST(CauseClass, DependsOnIssueLabels) {
  EXPECT_EQ(CauseClassOf(With("death", "warning")), CauseClass::kHardEvent);
  EXPECT_EQ(CauseClassOf(With("hardware", "critical")), CauseClass::kHardEvent);
  EXPECT_EQ(CauseClassOf(With("hardware", "warning", "3")), CauseClass::kNamed);
  EXPECT_EQ(CauseClassOf(With("numerics", "critical", "3")), CauseClass::kHardEvent);
  EXPECT_EQ(CauseClassOf(With("hang", "critical", "3")), CauseClass::kHang);
  EXPECT_EQ(CauseClassOf(With("straggler", "warning", "0")), CauseClass::kNamed);
  EXPECT_EQ(CauseClassOf(Labels({{"node", "n1"}})), CauseClass::kNamed);
  EXPECT_EQ(CauseClassOf(With("progress", "warning")), CauseClass::kJobWide);
}

TEST(CauseClass, DomainsExcludeExplanations) {
  for (const std::string_view cause : {"straggler", "bottleneck", "progress", "efficiency"}) {
    EXPECT_FALSE(MayExplain(cause, "numerics")) << cause;
    EXPECT_FALSE(MayExplain(cause, "optimization")) << cause;
    EXPECT_FALSE(MayExplain(cause, "death")) << cause;
    EXPECT_FALSE(MayExplain(cause, "hardware")) << cause;
    EXPECT_TRUE(MayExplain(cause, "bottleneck")) << cause;
    EXPECT_TRUE(MayExplain(cause, "network")) << cause;
  }
  EXPECT_FALSE(MayExplain("numerics", "death"));
  EXPECT_FALSE(MayExplain("death", "numerics"));
  EXPECT_FALSE(MayExplain("hang", "hardware"));
  EXPECT_TRUE(MayExplain("hang", "network"));
  EXPECT_TRUE(MayExplain("hardware", "numerics"));
  EXPECT_TRUE(MayExplain("memory", "death"));
  EXPECT_TRUE(MayExplain("numerics", "straggler"));
  EXPECT_TRUE(MayExplain("one of ours", "death"));
  EXPECT_TRUE(MayExplain("straggler", ""));
}

TEST(CauseClass, OrdersRoots) {
  const RootOrder death = RootOrderOf(With("death", "critical"), EventTime::FromNs(900));
  const RootOrder hang = RootOrderOf(With("hang", "critical"), EventTime::FromNs(100));
  const RootOrder named = RootOrderOf(With("straggler", "warning", "3"), EventTime::FromNs(50));
  const RootOrder earlier = RootOrderOf(With("straggler", "warning", "3"), EventTime::FromNs(40));
  const RootOrder critical = RootOrderOf(With("straggler", "critical", "3"), EventTime::FromNs(60));
  const RootOrder job = RootOrderOf(With("progress", "critical"), EventTime::FromNs(10));
  EXPECT_LT(death, hang);
  EXPECT_LT(hang, critical);
  EXPECT_LT(critical, earlier);
  EXPECT_LT(earlier, named);
  EXPECT_LT(named, job);
  EXPECT_TRUE(AreRivals(named, earlier, Duration::Nanos(10)));
  EXPECT_FALSE(AreRivals(named, earlier, Duration::Nanos(9)));
  EXPECT_FALSE(AreRivals(named, critical, Duration::Nanos(100)));
  EXPECT_FALSE(AreRivals(named, job, Duration::Nanos(100)));
}

}  // namespace
}  // namespace pitwall
