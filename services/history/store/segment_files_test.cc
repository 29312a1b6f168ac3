#include "services/history/store/segment_files.h"

#include <gtest/gtest.h>

namespace pitwall::history {
namespace {

SegmentMeta FactsOf(std::string job, uint64_t generation) {
  SegmentMeta facts;
  facts.job = std::move(job);
  facts.window_ns = kWindowNs;
  facts.generation = generation;
  return facts;
}

TEST(SegmentFiles, PathHasStartAndGeneration) {
  const SegmentFiles files("/history/segments", 0);
  const std::string path = files.PathOf(FactsOf("job", 7));
  EXPECT_TRUE(path.starts_with("/history/segments/")) << path;
  EXPECT_TRUE(path.ends_with("/600-7.seg")) << path;
  EXPECT_NE(files.PathOf(FactsOf("other", 7)), path);
}

TEST(SegmentFiles, RaisedGenerationIsNotReused) {
  SegmentFiles files("/history/segments", 0);
  EXPECT_EQ(files.NextGeneration(), 1U);
  files.RaiseGeneration(5);
  files.RaiseGeneration(3);
  EXPECT_EQ(files.NextGeneration(), 6U);
}

TEST(SegmentFiles, DamageIsClearedWithItsSegment) {
  SegmentFiles files("/history/segments", 0);
  const SegmentMeta first = FactsOf("job", 1), second = FactsOf("other", 2);
  files.NoteDamage(first, "bad checksum");
  files.NoteDamage(second, "truncated");
  EXPECT_TRUE(absl::IsDataLoss(files.Damage()));
  files.Discard(first);
  EXPECT_NE(files.Damage().message().find("truncated"), std::string::npos) << files.Damage();
  files.Forget("other");
  EXPECT_TRUE(files.Damage().ok());
}

TEST(SegmentFiles, MissingFileIsDamage) {
  SegmentFiles files(::testing::TempDir() + "no_segments", 0);
  EXPECT_TRUE(absl::IsDataLoss(files.Open(FactsOf("job", 1)).status()));
  EXPECT_TRUE(absl::IsDataLoss(files.Damage()));
}

}  // namespace
}  // namespace pitwall::history
