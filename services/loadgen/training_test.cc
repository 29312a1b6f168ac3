#include "services/loadgen/training.h"

#include <gtest/gtest.h>

#include <map>

namespace pitwall::loadgen {
namespace {

constexpr int64_t kBegin = 1'000 * kNanosPerSecond;
constexpr int64_t kMilli = kNanosPerMilli;

LoadPlan FourRanks() {
  LoadPlan plan;
  plan.gpus = 4;
  return plan;
}

std::vector<Planted> Plant(const std::string& text) {
  Planted planted;
  planted.fault = *ParseFault(text);
  planted.rank = planted.fault.rank;
  planted.from_ns = planted.fault.from_ns >= 0 ? kBegin + planted.fault.from_ns : 0;
  return {planted};
}

// Returns all steps that start before `until`, by rank.
std::vector<std::vector<RankStep>> ReadAll(Training* training, int64_t ranks, int64_t until) {
  std::vector<std::vector<RankStep>> out(static_cast<size_t>(ranks));
  for (int64_t r = 0; r < ranks; ++r) {
    while (const RankStep* step = training->Peek(r, until)) {
      out[static_cast<size_t>(r)].push_back(*step);
      if (step->end_ns() >= kNever) break;
      training->Pop(r);
    }
  }
  return out;
}

TEST(Training, AllRanksLeaveCollectiveTogether) {
  const LoadPlan plan = FourRanks();
  Training training(plan, 1, kBegin, {});
  const auto ranks = ReadAll(&training, 4, kBegin + 60 * kNanosPerSecond);
  ASSERT_GT(ranks[0].size(), 140u);
  for (size_t s = 0; s < ranks[0].size(); ++s) {
    int64_t last = 0;
    for (const auto& rank : ranks) {
      last = std::max(last, rank[s].ends_ns[2]);
      EXPECT_EQ(rank[s].ends_ns[3], ranks[0][s].ends_ns[3]);
      for (size_t p = 1; p < kPhases.size(); ++p)
        EXPECT_GT(rank[s].ends_ns[p], rank[s].ends_ns[p - 1]);
      if (s > 0) {
        EXPECT_EQ(rank[s].start_ns, rank[s - 1].end_ns() + 20'000);
      }
    }
    EXPECT_EQ(ranks[0][s].ends_ns[3], last + 32 * kMilli);  // 8% of 400 ms
  }
}

TEST(Training, IncrementalReads_ReturnSameSteps) {
  const LoadPlan plan = FourRanks();
  Training whole(plan, 9, kBegin, {});
  Training pieces(plan, 9, kBegin, {});
  const auto expected = ReadAll(&whole, 4, kBegin + 20 * kNanosPerSecond);
  std::vector<size_t> at(4, 0);
  for (int64_t until = kBegin; until <= kBegin + 20 * kNanosPerSecond; until += 70 * kMilli) {
    for (int64_t r = 3; r >= 0; --r) {
      while (const RankStep* step = pieces.Peek(r, until)) {
        const auto rank = static_cast<size_t>(r);
        ASSERT_LT(at[rank], expected[rank].size());
        EXPECT_EQ(step->ends_ns, expected[rank][at[rank]++].ends_ns);
        pieces.Pop(r);
      }
    }
  }
}

TEST(Training, StragglerIsSlowDuringFault) {
  const LoadPlan plan = FourRanks();
  std::vector<Planted> faults = Plant("straggler,rank=2,from=10s,for=20s,factor=2");
  Training training(plan, 1, kBegin, faults);
  const auto ranks = ReadAll(&training, 4, kBegin + 60 * kNanosPerSecond);
  EXPECT_EQ(faults[0].to_ns, kBegin + 30 * kNanosPerSecond);
  ASSERT_GE(faults[0].from_step, 20);
  for (size_t s = 0; s < ranks[2].size(); ++s) {
    const auto own = [&](size_t rank) {
      return static_cast<double>(ranks[rank][s].ends_ns[2] - ranks[rank][s].ends_ns[0]);
    };
    const bool slow =
        static_cast<int64_t>(s) >= faults[0].from_step && ranks[2][s].start_ns < faults[0].to_ns;
    EXPECT_NEAR(own(2) / own(0), slow ? 2 : 1, 0.15) << s;
  }
}

TEST(Training, HangBlocksAllLaterPhases) {
  const LoadPlan plan = FourRanks();
  std::vector<Planted> faults = Plant("hang,rank=1,from=step:25");
  Training training(plan, 1, kBegin, faults);
  const auto ranks = ReadAll(&training, 4, kBegin + 600 * kNanosPerSecond);
  for (const auto& rank : ranks) ASSERT_EQ(rank.size(), 26u);
  EXPECT_EQ(faults[0].from_step, 25);
  EXPECT_GT(faults[0].from_ns, ranks[1][25].start_ns);
  EXPECT_LT(ranks[1][25].ends_ns[0], kNever);  // the rank has received its data
  EXPECT_EQ(ranks[1][25].ends_ns[1], kNever);  // the rank's forward phase never ends
  EXPECT_LT(ranks[0][25].ends_ns[2], kNever);  // the other ranks wait in the collective
  EXPECT_EQ(ranks[0][25].ends_ns[3], kNever);
  EXPECT_TRUE(training.is_stalled(faults[0].from_ns));
  EXPECT_FALSE(training.finished_ns().has_value());
}

TEST(Training, TemporaryHangDelaysOneStep) {
  const LoadPlan plan = FourRanks();
  std::vector<Planted> faults = Plant("hang,rank=1,from=10s,for=30s");
  Training training(plan, 1, kBegin, faults);
  const auto ranks = ReadAll(&training, 4, kBegin + 60 * kNanosPerSecond);
  size_t longs = 0;
  for (const RankStep& step : ranks[0])
    longs += step.end_ns() - step.start_ns > 30 * kNanosPerSecond;
  EXPECT_EQ(longs, 1u);
}

TEST(Training, DeathTruncatesStep) {
  const LoadPlan plan = FourRanks();
  std::vector<Planted> faults = Plant("death,rank=3,from=30s,signal=11");
  Training training(plan, 1, kBegin, faults);
  const auto ranks = ReadAll(&training, 4, kBegin + 600 * kNanosPerSecond);
  ASSERT_TRUE(training.died_ns().has_value());
  EXPECT_EQ(training.dead_rank(), 3);
  EXPECT_EQ(training.dead_signal(), 11);
  EXPECT_GE(*training.died_ns(), kBegin + 30 * kNanosPerSecond);
  EXPECT_LT(*training.died_ns(), kBegin + 31 * kNanosPerSecond);
  EXPECT_EQ(ranks[3].back().ends_ns[2], kNever);
  for (const RankStep& step : ranks[3]) {
    for (int64_t end : step.ends_ns) EXPECT_TRUE(end == kNever || end <= *training.died_ns());
  }
  EXPECT_EQ(ranks[0].size(), ranks[3].size());
}

TEST(Training, JobEndsAfterConfiguredSteps) {
  LoadPlan plan = FourRanks();
  plan.steps = 40;
  Training training(plan, 1, kBegin, {});
  const auto ranks = ReadAll(&training, 4, kBegin + 600 * kNanosPerSecond);
  ASSERT_TRUE(training.finished_ns().has_value());
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank.size(), 40u);
    EXPECT_LE(rank.back().end_ns(), *training.finished_ns());
  }
}

}  // namespace
}  // namespace pitwall::loadgen
