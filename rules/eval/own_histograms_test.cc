// Tests for histogram_over_time and peer_histogram_distance (docs/functions.md): hand-written
// cases, and random cases compared with naive implementations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "rules/eval/evaluator.h"
#include "rules/eval/testing/fake_store.h"
#include "rules/eval/testing/naive_distance.h"
#include "services/base/testing/random_seed.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

using plan::NodeId;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Values = std::map<std::string, double>;  // results by label set
using Buckets = std::map<double, double>;      // counts by bound

std::string BoundText(double bound) { return bound == kInf ? "+Inf" : FormatDouble(bound); }

StatusOr<Values> ValuesOf(Evaluator& evaluator, NodeId node) {
  ASSIGN_OR_RETURN(const Vector* v, evaluator.Evaluate(node));
  Values out;
  for (size_t i = 0; i < v->size(); ++i) {
    if (v->present[i] != 0) out[v->labels(i).ToString()] = v->values[i];
  }
  return out;
}

struct Histogram {
  std::string rank, node;
  Buckets buckets;
  std::string name = "h_bucket";
};

StatusOr<Values> Peers(const std::vector<Histogram>& histograms,
                       const std::vector<std::string>& labels = {}) {
  ProgramBuilder b;
  const NodeId node = b.PeerHistograms(b.Metric("h_bucket|i_bucket"), labels);
  const plan::ProgramPtr program = b.Build();
  FakeStore store(program->domains[0]);
  for (const Histogram& h : histograms) {
    for (const auto& [bound, count] : h.buckets) {
      store.Set(
          Labels(
              {{"__name__", h.name}, {"rank", h.rank}, {"node", h.node}, {"le", BoundText(bound)}}),
          count);
    }
  }
  Evaluator evaluator(program, 0);
  evaluator.Begin(0, &store);
  return ValuesOf(evaluator, node);
}

// Returns the result. It must not be an error.
Values DistancesOf(const std::vector<Histogram>& histograms,
                   const std::vector<std::string>& labels = {}) {
  const StatusOr<Values> got = Peers(histograms, labels);
  EXPECT_TRUE(got.ok()) << got.status();
  return got.ok() ? *got : Values();
}

const Buckets kLow{{1, 10}, {2, 10}, {kInf, 10}}, kHigh{{1, 0}, {2, 0}, {kInf, 7}},
    kHalf{{1, 5}, {2, 10}, {kInf, 10}};

TEST(PeerHistograms, ReturnsLargestDistanceToAnyPeer) {
  const auto got = Peers({{"0", "", kLow}, {"1", "", kLow}, {"2", "", kHigh}});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, (Values{{"{rank=\"0\"}", 1}, {"{rank=\"1\"}", 1}, {"{rank=\"2\"}", 1}}));
  const auto near = Peers({{"0", "", kLow}, {"1", "", kHalf}});
  const double half = std::sqrt(0.5 * std::log2(4.0 / 3) + 0.25 * (std::log2(2.0 / 3) + 1));
  EXPECT_NEAR(near->at("{rank=\"0\"}"), half, 1e-15);
  EXPECT_EQ(near->at("{rank=\"0\"}"), near->at("{rank=\"1\"}"));
  EXPECT_EQ(DistancesOf({{"0", "", kLow}, {"1", "", kLow}}),
            (Values{{"{rank=\"0\"}", 0}, {"{rank=\"1\"}", 0}}));
}

TEST(PeerHistograms, PeersBelongToTheSameGroup) {
  const std::vector<Histogram> four{
      {"0", "a", kLow}, {"1", "a", kLow}, {"2", "b", kHigh}, {"3", "b", kHigh}};
  for (const auto& [labels, distance] : DistancesOf(four, {"node"}))
    EXPECT_EQ(distance, 0) << labels;
  for (const auto& [labels, distance] : DistancesOf(four)) EXPECT_EQ(distance, 1) << labels;
  // Grouping by a label that no element has puts all elements into one group. Grouping by a label
  // that isolates every element yields no result.
  EXPECT_EQ(DistancesOf(four, {"none"}).size(), 4u);
  EXPECT_TRUE(DistancesOf(four, {"rank"}).empty());
}

TEST(PeerHistograms, HistogramWithoutPeers_HasNoResult) {
  EXPECT_TRUE(DistancesOf({}).empty());
  EXPECT_TRUE(DistancesOf({{"0", "", kLow}}).empty());
  // A histogram without a shape is not a peer, and its result is NaN.
  for (const Buckets& odd : {Buckets{{1, 3}}, Buckets{{1, 0}, {kInf, 0}},
                             Buckets{{1, 3}, {kInf, kNan}}, Buckets{{1, 3}, {kInf, kInf}}}) {
    const Values two = DistancesOf({{"0", "", kLow}, {"1", "", odd}});
    EXPECT_EQ(two.size(), 1u);
    EXPECT_TRUE(std::isnan(two.at("{rank=\"1\"}")));
    const Values three = DistancesOf({{"0", "", kLow}, {"1", "", odd}, {"2", "", kHigh}});
    EXPECT_EQ(three.size(), 3u);
    EXPECT_EQ(three.at("{rank=\"0\"}"), 1);
    EXPECT_TRUE(std::isnan(three.at("{rank=\"1\"}")));
    EXPECT_TRUE(DistancesOf({{"1", "", odd}, {"2", "", odd}}).empty());
  }
  // Peers without a second common bound have no distance.
  const Buckets other{{5, 3}, {kInf, 4}};
  for (const auto& [labels, distance] : DistancesOf({{"0", "", kLow}, {"1", "", other}}))
    EXPECT_TRUE(std::isnan(distance)) << labels;
  const Values some = DistancesOf({{"0", "", kLow}, {"1", "", other}, {"2", "", kHigh}});
  EXPECT_EQ(some.at("{rank=\"0\"}"), 1);
  EXPECT_TRUE(std::isnan(some.at("{rank=\"1\"}")));
}

TEST(PeerHistograms, DropsNames_EqualLabelsReturnError) {
  const auto got = Peers({{"0", "", kLow}, {"1", "", kLow}, {"0", "", kHigh, "i_bucket"}});
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("same labelset"));
  EXPECT_EQ(DistancesOf({{"0", "", kLow}, {"1", "", kHigh, "i_bucket"}}).size(), 2u);
}

TEST(PeerHistograms, TooManyHistograms_ErrorContainsLimit) {
  std::vector<Histogram> many;
  for (int i = 0; i < 1025; ++i)
    many.push_back({std::to_string(i), std::to_string(i % 2), Buckets{{1, i}, {kInf, 2000}}});
  EXPECT_THAT(std::string(Peers(many).status().message()),
              HasSubstr("at most 1024 histograms; group by more labels"));
  EXPECT_EQ(DistancesOf(many, {"node"}).size(), 1025u);
  many.pop_back();
  EXPECT_EQ(DistancesOf(many).size(), 1024u);
}

TEST(Property, PeerHistogramsMatchNaiveImplementation) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE(Cat("PITWALL_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  const double bounds[] = {0.1, 0.5, 1, 2.5, 10, kInf};
  size_t numbers = 0;
  for (int round = 0; round < 300; ++round) {
    const bool by_node = round % 2 == 0;
    std::vector<Histogram> all;
    for (int rank = 0; rank < static_cast<int>(random() % 9); ++rank) {
      Histogram h{std::to_string(rank), std::to_string(random() % 2), {}};
      double count = 0;
      for (const double bound : bounds) {
        if (bound != kInf && random() % 4 == 0) continue;
        count += static_cast<double>(random() % 20);
        h.buckets[bound] = count + (bound == kInf ? 1 : 0);
      }
      all.push_back(std::move(h));
    }
    const Values got =
        DistancesOf(all, by_node ? std::vector<std::string>{"node"} : std::vector<std::string>{});
    size_t expected = 0;
    for (const Histogram& h : all) {
      double most = kNan;
      size_t peers = 0;
      for (const Histogram& other : all) {
        if (other.rank == h.rank || (by_node && other.node != h.node)) continue;
        ++peers;
        most = std::fmax(most, NaiveDistance(h.buckets, other.buckets));
      }
      const auto found = got.find(Cat("{node=\"", h.node, "\",rank=\"", h.rank, "\"}"));
      ASSERT_EQ(found != got.end(), peers > 0) << round;
      if (peers == 0) continue;
      ++expected;
      ASSERT_EQ(std::isnan(most), std::isnan(found->second)) << round;
      if (std::isnan(most)) continue;
      ++numbers;
      EXPECT_NEAR(most * most, found->second * found->second, 1e-14) << round;
    }
    EXPECT_EQ(got.size(), expected);
  }
  EXPECT_GT(numbers, 500u);
}

TEST(WindowHistogram, EachBucketIsElement) {
  ProgramBuilder b;
  const NodeId node = b.WindowHistogram("x", 0.1, 0.1, 3);
  const plan::ProgramPtr program = b.Build();
  FakeStore store(program->domains[0]);
  store.Set(Labels({{"__name__", "x"}, {"rank", "0"}}), 0.3);
  store.Set(Labels({{"__name__", "x"}, {"rank", "1"}, {"le", "7"}}), 0.15);
  store.Set(Labels({{"__name__", "x"}, {"rank", "2"}}), std::nullopt);
  Evaluator evaluator(program, 0);
  evaluator.Begin(0, &store);
  const auto got = ValuesOf(evaluator, node);
  ASSERT_TRUE(got.ok()) << got.status();
  // An existing label `le` is dropped. The value 0.3 is in the bucket with the bound 0.3, which is
  // printed as "0.3".
  EXPECT_EQ(*got, (Values{{"{le=\"0.1\",rank=\"0\"}", 0},
                          {"{le=\"0.2\",rank=\"0\"}", 0},
                          {"{le=\"0.3\",rank=\"0\"}", 1},
                          {"{le=\"+Inf\",rank=\"0\"}", 1},
                          {"{le=\"0.1\",rank=\"1\"}", 0},
                          {"{le=\"0.2\",rank=\"1\"}", 1},
                          {"{le=\"0.3\",rank=\"1\"}", 1},
                          {"{le=\"+Inf\",rank=\"1\"}", 1}}));
}

TEST(WindowHistogram, BindingIsReusedUntilSeriesChange) {
  ProgramBuilder b;
  const NodeId node = b.WindowHistogram("x", 0, 1, 20);
  const plan::ProgramPtr program = b.Build();
  FakeStore store(program->domains[0]);
  Evaluator evaluator(program, 0);
  std::set<uint64_t> bindings;
  const auto tick = [&](int64_t t) {
    evaluator.Begin(t, &store);
    const auto got = evaluator.Evaluate(node);
    EXPECT_TRUE(got.ok()) << got.status();
    bindings.insert((*got)->binding);
    return (*got)->CountPresent();
  };
  store.Set(Labels({{"__name__", "x"}, {"rank", "0"}}), 3);
  for (int t = 0; t < 5; ++t) {
    store.Set(Labels({{"__name__", "x"}, {"rank", "0"}}), t);
    EXPECT_EQ(tick(t), 21u);
  }
  EXPECT_EQ(bindings.size(), 1u);
  // This series is in the store but has no samples.
  store.Set(Labels({{"__name__", "x"}, {"rank", "0"}}), std::nullopt);
  EXPECT_EQ(tick(5), 0u);
  EXPECT_EQ(bindings.size(), 1u);
  store.Set(Labels({{"__name__", "x"}, {"rank", "1"}}), 3);
  EXPECT_EQ(tick(6), 21u);
  EXPECT_EQ(bindings.size(), 2u);
}

TEST(WindowHistogram, RejectsSeriesThatDifferOnlyByNameOrBound) {
  ProgramBuilder b;
  const NodeId node = b.WindowHistogram("x|y", 0, 1, 2);
  const plan::ProgramPtr program = b.Build();
  FakeStore store(program->domains[0]);
  Evaluator evaluator(program, 0);
  store.Set(Labels({{"__name__", "x"}, {"le", "5"}}), 1);
  store.Set(Labels({{"__name__", "y"}}), std::nullopt);
  evaluator.Begin(0, &store);
  EXPECT_EQ(ValuesOf(evaluator, node)->size(), 3u);
  store.Set(Labels({{"__name__", "y"}}), 1);
  evaluator.Begin(1, &store);
  EXPECT_THAT(std::string(ValuesOf(evaluator, node).status().message()),
              HasSubstr("same labelset"));
}

TEST(WindowHistogram, BucketsCountTowardElementLimit) {
  ProgramBuilder b;
  const NodeId node = b.WindowHistogram("x", 0, 1, 9);
  const plan::ProgramPtr program = b.Build();
  FakeStore store(program->domains[0]);
  for (int rank = 0; rank < 10; ++rank)
    store.Set(Labels({{"__name__", "x"}, {"rank", std::to_string(rank)}}), 1);
  EvaluatorOptions options;
  options.max_elements = 100;
  Evaluator evaluator(program, 0, options);
  evaluator.Begin(0, &store);
  EXPECT_EQ(ValuesOf(evaluator, node)->size(), 100u);
  store.Set(Labels({{"__name__", "x"}, {"rank", "10"}}), 1);
  evaluator.Begin(1, &store);
  EXPECT_THAT(std::string(ValuesOf(evaluator, node).status().message()),
              HasSubstr("110 elements, the limit is 100"));
}

}  // namespace
}  // namespace pitwall::eval
