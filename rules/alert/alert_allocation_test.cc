// Tests that Step does not allocate memory in the steady state: alerts are pending and firing, and
// no alert starts, ends, or is reported.
#include <gtest/gtest.h>

#include "rules/alert/status/rule_status.h"
#include "rules/alert/testing/alert_script.h"
#include "rules/eval/testing/count_allocations.h"

namespace pitwall::alert {
namespace {

TEST(AlertAllocation, SteadyStateDoesNotAllocate) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer replaces the allocator";
  AlertScript s;
  s.rule.hold = Duration::Seconds(1000);
  s.rule.keep_firing = Duration::Seconds(1000);
  s.rule.labels = {{"severity", "page"}, {"who", "{{ $labels.x }}"}};
  s.rule.annotations = {{"summary", "at {{ $value }}"}};
  s.options.min_update = s.options.max_update = Duration::Nanos(INT64_MAX);
  AlertState state = s.Make();
  std::vector<std::string> xs;
  for (int i = 0; i < 2000; ++i) xs.push_back(std::to_string(i));
  const auto column = ColumnOfX(xs, "a");
  Elements on = Absent(column);
  Elements subject = Absent(column);
  for (size_t i = 0; i < 2000; ++i) {
    subject.present[i] = 1;
    on.present[i] = i % 100 == 0;
  }
  InputWatch watch;
  std::vector<Transition> out;
  size_t transitions = 0;
  const auto step = [&](int64_t seconds) {
    const eval::Vector expr = on.View();
    const eval::Vector left = subject.View();
    AlertInput input;
    input.at.time = EventTime::FromNs(seconds * 1'000'000'000);
    input.at.position = PositionOf(input.at.time);
    input.expr = &expr;
    input.subject = &left;
    out.clear();
    ASSERT_TRUE(state.Step(input, &out).ok());
    watch.Update(left);
    transitions += out.size();
  };
  step(0);
  on.present[7] = 1;
  step(600);  // this alert is still pending below
  step(1000);
  on.present[100] = 0;  // this alert is kept firing
  step(1001);
  EXPECT_EQ(state.firing(), 20u);
  EXPECT_EQ(state.pending(), 1u);
  const size_t transitions_before = transitions;
  const uint64_t before = g_allocations.load();
  for (int64_t t = 1002; t < 1100; ++t) {
    for (size_t i = 0; i < 2000; ++i) on.values[i] = static_cast<double>(t) + 0.5;
    step(t);
  }
  EXPECT_EQ(g_allocations.load() - before, 0u);
  EXPECT_EQ(transitions, transitions_before);
  // Control: a new alert must increase the count.
  on.present[8] = 1;
  step(1100);
  EXPECT_GT(g_allocations.load(), before);
  EXPECT_EQ(transitions, transitions_before + 1);
}

}  // namespace
}  // namespace pitwall::alert
