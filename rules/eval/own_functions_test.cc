// Tests for functions that extend PromQL on instant vectors (docs/functions.md): hand-written
// cases, and random cases compared with naive implementations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "rules/eval/evaluator.h"
#include "rules/eval/testing/fake_store.h"
#include "rules/eval/testing/naive_distance.h"
#include "services/base/testing/random_seed.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

using plan::FunctionId;
using plan::NodeId;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Values = std::map<std::string, double>;  // results by label set

struct Given {
  ProgramBuilder b;
  std::vector<std::pair<Labels, double>> series;

  void Set(std::string_view name, std::string_view rank, double value, std::string_view le = "") {
    series.emplace_back(Labels({{"__name__", name}, {"rank", rank}, {"le", le}}), value);
  }
  StatusOr<Values> Run(NodeId node) {
    const plan::ProgramPtr program = b.Build();
    FakeStore store(program->domains[0]);
    for (const auto& [labels, value] : series) store.Set(labels, value);
    Evaluator evaluator(program, 0);
    evaluator.Begin(0, &store);
    ASSIGN_OR_RETURN(const Vector* v, evaluator.Evaluate(node));
    Values out;
    for (size_t i = 0; i < v->size(); ++i) {
      if (v->present[i] != 0) out[v->labels(i).ToString()] = v->values[i];
    }
    return out;
  }
};

constexpr double kNone = -12345;

// Returns the results for ranks 0, 1, … with these values. A missing result is -12345.
using PeerFunction = NodeId (ProgramBuilder::*)(NodeId, std::vector<std::string>);
std::vector<double> OfPeers(PeerFunction function, const std::vector<double>& values) {
  Given given;
  for (size_t i = 0; i < values.size(); ++i) given.Set("t", std::to_string(100 + i), values[i]);
  const auto got = given.Run((given.b.*function)(given.b.Metric("t"), {}));
  EXPECT_TRUE(got.ok()) << got.status();
  std::vector<double> out;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto found = got->find(Cat("{rank=\"", 100 + i, "\"}"));
    out.push_back(found == got->end() ? -12345 : found->second);
  }
  return out;
}

std::vector<double> PeerScores(const std::vector<double>& values) {
  return OfPeers(&ProgramBuilder::PeerScore, values);
}
std::vector<double> PeerRatios(const std::vector<double>& values) {
  return OfPeers(&ProgramBuilder::PeerRatio, values);
}

TEST(PeerRatio, SinglePeerIsSufficient) {
  EXPECT_EQ(PeerRatios({3}), (std::vector<double>{kNone}));
  EXPECT_EQ(PeerRatios({0.1, 0.3}), (std::vector<double>{0.1 / 0.3, 0.3 / 0.1}));
  // With three elements, the reference is the mean of the other two. With four elements, it is the
  // median of the other three.
  EXPECT_EQ(PeerRatios({1, 3, 5}), (std::vector<double>{0.25, 1, 2.5}));
  EXPECT_EQ(PeerRatios({1, 2, 4, 8}), (std::vector<double>{0.25, 0.5, 2, 4}));
}

TEST(PeerRatio, HandlesUnusualPopulations) {
  // NaN is not a peer, so the only other element has no peers.
  EXPECT_EQ(PeerRatios({1, kNan})[0], kNone);
  EXPECT_TRUE(std::isnan(PeerRatios({1, kNan})[1]));
  EXPECT_EQ(PeerRatios({kNan, kNan}), (std::vector<double>{kNone, kNone}));
  EXPECT_EQ(PeerRatios({1, kNan, 4})[0], 0.25);
  // Zero and negative medians yield ordinary quotients.
  EXPECT_EQ(PeerRatios({0, 5}), (std::vector<double>{0, kInf}));
  EXPECT_EQ(PeerRatios({-0.0, 5})[1], -kInf);
  for (const double ratio : PeerRatios({0, 0})) EXPECT_TRUE(std::isnan(ratio));
  EXPECT_EQ(PeerRatios({-2, 4}), (std::vector<double>{-0.5, -2}));
  EXPECT_EQ(PeerRatios({2, kInf}), (std::vector<double>{0, kInf}));
  EXPECT_TRUE(std::isnan(PeerRatios({2, -kInf, kInf})[0])) << "no number in the middle";
}

TEST(PeerScore, ComparesElementWithPeers) {
  EXPECT_EQ(PeerScores({1}), (std::vector<double>{kNone}));
  EXPECT_EQ(PeerScores({1, 9}), (std::vector<double>{kNone, kNone}));
  // The median and MAD of 1 and 3 are 2 and 1; of 1 and 5, they are 3 and 2; of 3 and 5, they are 4
  // and 1.
  EXPECT_EQ(PeerScores({1, 3, 5}), (std::vector<double>{-3 / 1.4826, 0, 3 / 1.4826}));
  // Without 10, the other three elements are 1, 2, and 3. The element 10 therefore does not mask
  // itself.
  EXPECT_EQ(PeerScores({1, 2, 3, 10})[3], 8 / 1.4826);
  // Two slow ranks among eight do not mask each other.
  const std::vector<double> eight = PeerScores({1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 3, 3});
  EXPECT_GT(eight[6], 3.5);
  EXPECT_GT(eight[7], 3.5);
  EXPECT_LT(std::fabs(eight[1]), 3.5);
}

TEST(PeerScore, HandlesUnusualPopulations) {
  // If all peers are equal, the scale is 1% of the median.
  EXPECT_EQ(PeerScores({100, 100, 100, 104}), (std::vector<double>{0, 0, 0, 4}));
  EXPECT_EQ(PeerScores({0, 0, 0, 0}), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(PeerScores({0, 0, -0.0, 5})[3], kInf);
  EXPECT_EQ(PeerScores({0, 0, 0, -5})[3], -kInf);
  // NaN has no score and is not a peer.
  const std::vector<double> some = PeerScores({1, kNan, 3, 5});
  EXPECT_TRUE(std::isnan(some[1]));
  EXPECT_EQ(some[3], 3 / 1.4826);
  EXPECT_EQ(PeerScores({1, kNan})[1], -12345);
  const std::vector<double> wide = PeerScores({1, 2, 3, kInf});
  EXPECT_EQ(wide[3], kInf);
  EXPECT_TRUE(std::isfinite(wide[0]));
  for (const double score : PeerScores({kInf, kInf, kInf})) EXPECT_TRUE(std::isnan(score));
}

TEST(PeerScore, PeersShareGivenLabelsAndDropNames) {
  Given given;
  for (const char* stage : {"0", "1"}) {
    for (int rank = 0; rank < 3; ++rank) {
      given.series.emplace_back(
          Labels({{"__name__", "t"}, {"stage", stage}, {"rank", std::to_string(rank)}}),
          stage[0] == '0' ? 1 + rank : 1000 + rank);
    }
  }
  const auto by_stage = given.Run(given.b.PeerScore(given.b.Metric("t"), {"stage"}));
  ASSERT_TRUE(by_stage.ok());
  ASSERT_EQ(by_stage->size(), 6U);
  EXPECT_EQ(by_stage->at("{rank=\"1\",stage=\"0\"}"), 0);
  const auto all = given.Run(given.b.PeerScore(given.b.Metric("t"), {}));
  EXPECT_LT(all->at("{rank=\"1\",stage=\"0\"}"), -0.5);
  // A missing label is equal to an empty label.
  EXPECT_EQ(
      given.Run(given.b.PeerScore(given.b.Metric("t"), {"none"}))->at("{rank=\"1\",stage=\"0\"}"),
      all->at("{rank=\"1\",stage=\"0\"}"));

  Given twice;
  for (const char* name : {"t", "u", "v"}) twice.Set(name, "0", 1);
  EXPECT_THAT(
      std::string(twice.Run(twice.b.PeerScore(twice.b.Metric("t|u|v"), {})).status().message()),
      HasSubstr("same labelset"));
}

TEST(BaselineScore, ComparesValueWithMedianAndMad) {
  const auto score = [](double value, double median, double mad) {
    Given given;
    given.Set("x", "0", value);
    given.Set("median", "0", median);
    given.Set("mad", "0", mad);
    given.Set("x", "1", 5);  // no baseline yet
    given.Set("median", "2", 5);
    const auto got = given.Run(given.b.Call(
        FunctionId::kBaselineScore,
        {given.b.Metric("x"), given.b.Metric("median", false), given.b.Metric("mad", false)}));
    EXPECT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->size(), 1U);
    return got->at("{rank=\"0\"}");
  };
  EXPECT_EQ(score(13, 10, 1), 3 / 1.4826);
  EXPECT_EQ(score(7, 10, 1), -3 / 1.4826);
  EXPECT_EQ(score(10, 10, 0), 0);
  EXPECT_EQ(score(11, 10, 0), 10);  // 1% of the median
  EXPECT_EQ(score(-9, -10, 0.01), 10);
  EXPECT_EQ(score(0, 0, 0), 0);
  EXPECT_EQ(score(1e-9, 0, 0), kInf);
  EXPECT_EQ(score(kInf, 10, 1), kInf);
  EXPECT_TRUE(std::isnan(score(kNan, 10, 1)));
  EXPECT_TRUE(std::isnan(score(1, kNan, kNan)));
  EXPECT_TRUE(std::isnan(score(1, kInf, 1)));
}

double Distance(const std::vector<std::pair<std::string, double>>& a,
                const std::vector<std::pair<std::string, double>>& b) {
  Given given;
  for (const auto& [le, count] : a) given.Set("a_bucket", "0", count, le);
  for (const auto& [le, count] : b) given.Set("b_bucket", "0", count, le);
  const auto got = given.Run(given.b.Call(
      FunctionId::kHistogramDistance, {given.b.Metric("a_bucket"), given.b.Metric("b_bucket")}));
  EXPECT_TRUE(got.ok()) << got.status();
  if (got->empty()) return -12345;
  EXPECT_EQ(got->begin()->first, "{rank=\"0\"}");
  return got->begin()->second;
}

TEST(HistogramDistance, MatchesHandComputedDistances) {
  EXPECT_EQ(Distance({{"1", 3}, {"2", 5}, {"+Inf", 10}}, {{"1", 30}, {"2", 50}, {"+Inf", 100}}), 0);
  EXPECT_EQ(Distance({{"1", 4}, {"+Inf", 4}}, {{"1", 0}, {"+Inf", 9}}), 1);  // disjoint shapes
  // For p = (1, 0) and q = (1/2, 1/2), the divergence is (log2(4/3) + (log2(2/3) + log2(2)) / 2) /
  // 2.
  EXPECT_NEAR(Distance({{"1", 2}, {"+Inf", 2}}, {{"1", 1}, {"+Inf", 2}}),
              std::sqrt(0.5 * std::log2(4.0 / 3) + 0.25 * (std::log2(2.0 / 3) + 1)), 1e-15);
  // Only the common bounds 1 and +Inf count.
  EXPECT_NEAR(Distance({{"1", 2}, {"2", 2}, {"+Inf", 2}}, {{"1", 1}, {"1.5", 2}, {"+Inf", 2}}),
              Distance({{"1", 2}, {"+Inf", 2}}, {{"1", 1}, {"+Inf", 2}}), 1e-15);
  // Decreasing counts are raised, as in quantiles.
  EXPECT_EQ(Distance({{"1", 5}, {"2", 4}, {"+Inf", 10}}, {{"1", 1}, {"2", 1}, {"+Inf", 2}}), 0);
}

TEST(HistogramDistance, HistogramWithoutShape_HasNoDistance) {
  const std::vector<std::pair<std::string, double>> whole = {{"1", 2}, {"+Inf", 4}};
  EXPECT_TRUE(std::isnan(Distance({{"1", 2}, {"2", 4}}, whole)));     // no +Inf
  EXPECT_TRUE(std::isnan(Distance({{"1", 0}, {"+Inf", 0}}, whole)));  // no observations
  EXPECT_TRUE(std::isnan(Distance({{"3", 2}, {"+Inf", 4}}, whole)));  // no common bound
  EXPECT_TRUE(std::isnan(Distance({{"1", kNan}, {"+Inf", 4}}, whole)));
  EXPECT_TRUE(std::isnan(Distance({{"1", 2}, {"+Inf", kInf}}, whole)));
  EXPECT_EQ(Distance({{"x", 2}}, whole), -12345);  // no bucket, so no result
  Given twice;
  for (const char* name : {"a", "b", "c"}) {
    for (const char* le : {"1", "+Inf"}) twice.Set(name, "0", 5, le);
  }
  EXPECT_THAT(std::string(twice
                              .Run(twice.b.Call(FunctionId::kHistogramDistance,
                                                {twice.b.Metric("a|b"), twice.b.Metric("c")}))
                              .status()
                              .message()),
              HasSubstr("same labelset"));
}

// ---- Naive implementations ----

double NaiveMedian(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : v[n / 2 - 1] * 0.5 + v[n / 2] * 0.5;
}

double NaiveScore(double x, const std::vector<double>& population) {
  const double median = NaiveMedian(population);
  if (!std::isfinite(median)) return kNan;
  std::vector<double> deviations;
  for (const double v : population) deviations.push_back(std::fabs(v - median));
  const double scale = std::max(1.4826 * NaiveMedian(deviations), std::fabs(median) / 100);
  return x == median && scale == 0 ? 0 : (x - median) / scale;
}

std::map<Labels, double> NaivePeers(const std::vector<std::pair<Labels, double>>& elements,
                                    const std::vector<std::string>& by, bool ratio) {
  std::map<Labels, double> out;
  for (const auto& [labels, value] : elements) {
    std::vector<double> peers;
    for (const auto& [other, v] : elements) {
      if (other != labels && other.Keep(by) == labels.Keep(by) && !std::isnan(v))
        peers.push_back(v);
    }
    if (peers.empty() || (!ratio && peers.size() < 2)) continue;
    out[labels.DropName()] = ratio ? value / NaiveMedian(peers) : NaiveScore(value, peers);
  }
  return out;
}

void ExpectSame(const std::map<Labels, double>& want, const Vector& got, double tolerance) {
  size_t present = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got.present[i] == 0) continue;
    ++present;
    const auto found = want.find(got.labels(i));
    ASSERT_NE(found, want.end()) << got.labels(i).ToString();
    if (std::isnan(found->second) || std::isinf(found->second)) {
      EXPECT_TRUE(std::isnan(found->second) ? std::isnan(got.values[i])
                                            : got.values[i] == found->second)
          << got.labels(i).ToString() << " " << got.values[i];
    } else {
      EXPECT_NEAR(got.values[i], found->second, tolerance) << got.labels(i).ToString();
    }
  }
  EXPECT_EQ(present, want.size());
}

void PeersEqualNaive(bool ratio) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE(Cat("PITWALL_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  size_t scored = 0;
  for (int round = 0; round < 40; ++round) {
    ProgramBuilder b;
    std::vector<std::string> by;
    for (const char* name : {"stage", "node"}) {
      if (random() % 2 == 0) by.emplace_back(name);
    }
    const NodeId in = b.Metric("t");
    const NodeId node = ratio ? b.PeerRatio(in, by) : b.PeerScore(in, by);
    const auto program = b.Build();
    FakeStore store(program->domains[0]);
    Evaluator evaluator(program, 0);
    const bool ties = round % 3 == 0;
    for (int tick = 0; tick < 20; ++tick) {
      for (size_t k = 0; k < (tick == 0 ? 40 : 5); ++k) {
        const Labels labels({{"__name__", "t"},
                             {"rank", std::to_string(random() % 16)},
                             {"stage", std::to_string(random() % 2)},
                             {"node", random() % 4 == 0 ? "" : std::to_string(random() % 3)}});
        // Ratios are tested with only one sign of zero, because the naive implementation does not
        // define which of 0 and -0 is the median.
        const double odd[] = {kNan, kInf, -kInf, 0, ratio ? 0 : -0.0};
        double value = std::normal_distribution<double>(100, 5)(random);
        if (ties) value = static_cast<double>(random() % 4);
        if (random() % 12 == 0) value = odd[random() % 5];
        store.Change(random() % 8, labels, value);
      }
      evaluator.Begin(tick, &store);
      std::vector<std::pair<Labels, double>> elements;
      for (const auto& [labels, value] : store.series()) {
        if (value) elements.emplace_back(*labels, *value);
      }
      const std::map<Labels, double> want = NaivePeers(elements, by, ratio);
      const auto got = evaluator.Evaluate(node);
      ASSERT_TRUE(got.ok()) << got.status();
      ExpectSame(want, **got, 1e-9);
      scored += want.size();
    }
  }
  EXPECT_GT(scored, 10'000U);
}
TEST(Property, PeerScoresMatchNaiveImplementation) { PeersEqualNaive(/*ratio=*/false); }
TEST(Property, PeerRatiosMatchNaiveImplementation) { PeersEqualNaive(/*ratio=*/true); }

TEST(Property, HistogramDistancesMatchNaiveImplementation) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE(Cat("PITWALL_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  const double bounds[] = {0.1, 0.5, 1, 2.5, 10, kInf};
  size_t numbers = 0;
  for (int round = 0; round < 400; ++round) {
    Given given;
    std::map<double, double> sides[2];
    for (int rank = 0; rank < 3; ++rank) {
      std::map<double, double> drawn[2];
      for (int side = 0; side < 2; ++side) {
        double count = 0;
        for (const double bound : bounds) {
          if (bound != kInf && random() % 5 == 0) continue;
          count += static_cast<double>(random() % 20);
          drawn[side][bound] = count + (bound == kInf ? 1 : 0);
        }
        for (const auto& [bound, n] : drawn[side]) {
          given.Set(side == 0 ? "a" : "b", std::to_string(rank), n,
                    bound == kInf ? "+Inf" : FormatDouble(bound));
        }
      }
      if (rank == 1) sides[0] = drawn[0], sides[1] = drawn[1];
    }
    const NodeId node =
        given.b.Call(FunctionId::kHistogramDistance, {given.b.Metric("a"), given.b.Metric("b")});
    const auto got = given.Run(node);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), 3U);
    const double want = NaiveDistance(sides[0], sides[1]), have = got->at("{rank=\"1\"}");
    ASSERT_EQ(std::isnan(want), std::isnan(have)) << round;
    if (std::isnan(want)) continue;
    ++numbers;
    EXPECT_NEAR(want * want, have * have, 1e-14) << round;
    EXPECT_GE(have, 0);
    EXPECT_LE(have, 1);
  }
  EXPECT_GT(numbers, 300U);
}

}  // namespace
}  // namespace pitwall::eval
