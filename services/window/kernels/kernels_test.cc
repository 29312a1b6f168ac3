// Tests that the kernels give the same bits on every instruction set, and that merging the empty
// partial changes no bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "services/model/value.h"
#include "services/model/windows/function_table.h"
#include "services/window/kernels/family.h"

namespace pitwall::window {

namespace baseline {
const FamilyOps& OpsOf(Family family);
std::optional<FunctionPlan> PlanOf(WindowKind kind, WindowFunction function);
}  // namespace baseline

namespace {

constexpr size_t kCapacity = 48, kColumns = 37;
constexpr uint64_t kSeed = 11;

// All window functions, in the order of their numbers.
constexpr WindowFunction kAllFunctions[] = {
#define PITWALL_WINDOW_OF_PARTIALS(id, ...) WindowFunction::id,
#define PITWALL_WINDOW_OF_SAMPLES(id, ...) WindowFunction::id,
#define PITWALL_WINDOW_OTHERWISE(id, ...) WindowFunction::id,
#include "services/model/windows/functions.inc"
};

// Compares bits, except that all NaNs are equal, because the payload of a NaN is never read.
void ExpectSame(const std::vector<double>& a, const std::vector<double>& b, size_t fields) {
  for (size_t f = 0; f < fields; ++f) {
    for (size_t i = 0; i < kColumns; ++i) {
      const double x = a[f * kCapacity + i], y = b[f * kCapacity + i];
      if (std::isnan(x) && std::isnan(y) && IsMissing(x) == IsMissing(y)) continue;
      ASSERT_EQ(std::bit_cast<uint64_t>(x), std::bit_cast<uint64_t>(y))
          << "field " << f << " column " << i;
    }
  }
}

struct Samples {
  std::vector<double> values = std::vector<double>(kCapacity, MissingValue());
  std::vector<int64_t> times = std::vector<int64_t>(kCapacity, 0);
};

Samples RandomSamples(std::mt19937_64& random, bool dense, int64_t time) {
  Samples s;
  for (size_t i = 0; i < kColumns; ++i) {
    s.times[i] = time + static_cast<int64_t>(random() % 1000);
    switch (random() % 16) {
      case 0:
        s.values[i] = dense ? 1.0 : MissingValue();
        break;
      case 1:
        s.values[i] = NormalNan();
        break;
      case 2:
        s.values[i] = std::numeric_limits<double>::infinity();
        break;
      case 3:
        s.values[i] = 1e308;
        break;
      case 4:
        s.values[i] = -0.0;
        break;
      default:
        s.values[i] = std::normal_distribution<double>(1e6, 1)(random);
    }
  }
  return s;
}

class FamilyTest : public testing::TestWithParam<int> {};

TEST_P(FamilyTest, AllInstructionSetsGiveIdenticalBits) {
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  const auto family = static_cast<Family>(GetParam());
  const FamilyOps &ours = OpsOf(family), &plain = baseline::OpsOf(family);
  ASSERT_EQ(ours.fields, plain.fields);
  ASSERT_EQ(ours.timed, plain.timed);
  const size_t cells = ours.fields * kCapacity;
  const std::vector<double> empty(cells, ours.fields <= 2 ? MissingValue() : 0.0);
  std::vector<double> a = empty, b = empty, out(cells), other(cells);
  for (int round = 0; round < 50; ++round) {
    const bool dense = round % 3 == 0;
    const Samples s = RandomSamples(random, dense, round * 1000);
    ours.append(out.data(), a.data(), s.values.data(), s.times.data(), kCapacity, kColumns, dense);
    plain.append(other.data(), a.data(), s.values.data(), s.times.data(), kCapacity, kColumns,
                 dense);
    ExpectSame(out, other, ours.fields);
    a = out;
    ours.prepend(out.data(), s.values.data(), s.times.data(), b.data(), kCapacity, kColumns, dense);
    plain.prepend(other.data(), s.values.data(), s.times.data(), b.data(), kCapacity, kColumns,
                  dense);
    ExpectSame(out, other, ours.fields);
    b = out;
    ours.merge(out.data(), a.data(), b.data(), kCapacity, kColumns);
    plain.merge(other.data(), a.data(), b.data(), kCapacity, kColumns);
    ExpectSame(out, other, ours.fields);
    // Merging clears the compensation of an infinite sum, but these partials have none, so no bits
    // change.
    ours.merge(out.data(), a.data(), empty.data(), kCapacity, kColumns);
    ExpectSame(out, a, 1);
    ours.merge(out.data(), empty.data(), a.data(), kCapacity, kColumns);
    ExpectSame(out, a, 1);
    if (round % 7 == 6) a = b = empty;
  }
}
INSTANTIATE_TEST_SUITE_P(Families, FamilyTest,
                         testing::Range(0, static_cast<int>(kPartialFamilies)));

TEST(Kernels, AllInstructionSetsGiveSameResults) {
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  const ReadContext context{0, 20'000, 20e-6};
  for (const WindowKind kind : {WindowKind::kInstant, WindowKind::kTime}) {
    for (const WindowFunction function : kAllFunctions) {
      const std::optional<FunctionPlan> ours = PlanOf(kind, function);
      const std::optional<FunctionPlan> plain = baseline::PlanOf(kind, function);
      ASSERT_EQ(ours.has_value(), plain.has_value());
      if (!ours || ours->finish == nullptr) continue;
      const FamilyOps& ops = OpsOf(ours->family);
      const std::vector<double> empty(ops.fields * kCapacity,
                                      ops.fields <= 2 ? MissingValue() : 0.0);
      std::vector<double> a = empty, next = empty;
      for (int round = 0; round < 12; ++round) {
        const Samples s = RandomSamples(random, false, 1000 + round * 1000);
        ops.append(next.data(), a.data(), s.values.data(), s.times.data(), kCapacity, kColumns,
                   false);
        std::swap(a, next);
        std::vector<double> x(kCapacity), y(kCapacity);
        std::vector<uint8_t> has_x(kCapacity), has_y(kCapacity);
        ours->finish(a.data(), empty.data(), kCapacity, kColumns, context, x.data(), has_x.data());
        plain->finish(empty.data(), a.data(), kCapacity, kColumns, context, y.data(), has_y.data());
        ASSERT_EQ(has_x, has_y) << RowOf(function).name;
        for (size_t i = 0; i < kColumns; ++i) {
          if (has_x[i]) {
            ASSERT_EQ(std::bit_cast<uint64_t>(x[i]), std::bit_cast<uint64_t>(y[i]))
                << RowOf(function).name << " " << i;
          }
        }
      }
    }
  }
}

// The sizes in the planner's cost model must match the actual sizes.
TEST(Families, SizesMatchCostModel) {
  for (const WindowFunction function : kAllFunctions) {
    const bool instant =
        function == WindowFunction::kLast || function == WindowFunction::kTimestamp;
    const auto plan = PlanOf(instant ? WindowKind::kInstant : WindowKind::kTime, function);
    ASSERT_TRUE(plan.has_value()) << RowOf(function).name;
    const WindowState state =
        WindowStateOf(instant ? WindowKind::kInstant : WindowKind::kTime, function);
    const bool ordered =
        state.storage == WindowStorage::kRanked || state.storage == WindowStorage::kSorted;
    EXPECT_EQ(ordered, plan->family == Family::kOrdered) << RowOf(function).name;
    EXPECT_EQ(state.storage == WindowStorage::kSamples, plan->family == Family::kSamples)
        << RowOf(function).name;
    EXPECT_EQ(state.storage == WindowStorage::kStates, plan->family == Family::kStates)
        << RowOf(function).name;
    EXPECT_EQ(state.storage == WindowStorage::kSketch, plan->family == Family::kSketch)
        << RowOf(function).name;
    if (plan->finish == nullptr) continue;
    EXPECT_EQ(state.fields, OpsOf(plan->family).fields) << RowOf(function).name;
    EXPECT_EQ(state.timed, OpsOf(plan->family).timed) << RowOf(function).name;
  }
}

}  // namespace
}  // namespace pitwall::window
