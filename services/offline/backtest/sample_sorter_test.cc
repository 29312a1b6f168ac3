#include "services/offline/backtest/sample_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace pitwall::offline {
namespace {

constexpr uint32_t kSeed = 20260101;

std::vector<TimedSample> Sorted(std::vector<TimedSample> samples, size_t memory, size_t* runs) {
  SampleSorter sorter(memory);
  for (const TimedSample& sample : samples) EXPECT_TRUE(sorter.Add(sample).ok());
  EXPECT_TRUE(sorter.Finish().ok());
  *runs = sorter.runs_on_disk();
  std::vector<TimedSample> out;
  for (TimedSample next; *sorter.Next(&next);) out.push_back(next);
  return out;
}

TEST(SampleSorter, InMemoryAndOnDisk_ReturnSameOrder) {
  std::mt19937_64 random(kSeed);
  for (const size_t count : {0, 1, 2, 999, 1000, 1001, 30'000}) {
    std::vector<TimedSample> samples;
    for (size_t i = 0; i < count; ++i) {
      samples.push_back({static_cast<int64_t>(random() % 5000) - 2500, static_cast<double>(i),
                         static_cast<uint32_t>(random() % 7), static_cast<uint32_t>(i)});
    }
    std::vector<TimedSample> expected = samples;
    std::sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
      return std::tie(a.time_ns, a.series, a.line) < std::tie(b.time_ns, b.series, b.line);
    });
    // Covers sample counts above and below the buffer size of a run.
    for (const size_t memory : {size_t{1000}, size_t{9000}, size_t{1} << 20}) {
      size_t runs = 0;
      const std::vector<TimedSample> got = Sorted(samples, memory, &runs);
      EXPECT_EQ(runs, count <= memory ? 0 : (count + memory - 1) / memory);
      ASSERT_EQ(got.size(), expected.size()) << "seed " << kSeed;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(
            std::tie(got[i].time_ns, got[i].series, got[i].line, got[i].value),
            std::tie(expected[i].time_ns, expected[i].series, expected[i].line, expected[i].value))
            << "seed " << kSeed << ", count " << count << ", memory " << memory << ", at " << i;
      }
    }
  }
}

TEST(SampleSorter, TemporaryFileFails_ErrorStatesCause) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nonexistent", 1);
  SampleSorter sorter(1);
  EXPECT_TRUE(sorter.Add({}).ok());
  const Status status = sorter.Add({});
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

}  // namespace
}  // namespace pitwall::offline
