#include "services/adapters/embedded_log/format/commit_frame.h"

#include <gtest/gtest.h>

#include <string>

#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

Frame Sample(uint64_t sequence) {
  Frame frame;
  frame.sequence = sequence;
  frame.synced_sequence = sequence / 2;
  PartitionEnd end;
  end.key = {3, 17};
  end.segment_base = 1000;
  end.from_bytes = 16;
  end.to_bytes = 999;
  end.from_offset = 1000;
  end.to_offset = 1020;
  end.last_time_ns = 1'767'225'600'000'000'000;
  frame.ends = {end, end};
  frame.positions.push_back({"group", {4, 0}, {77, "metadata"}});
  frame.epochs.push_back({"committer", 9});
  return frame;
}

TEST(CommitFrame, RoundTripPreservesFields) {
  std::string bytes;
  ASSERT_TRUE(EncodeFrame(Sample(12), &bytes).ok());
  size_t size = 0;
  const auto frame = DecodeFrame(bytes, &size);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(size, bytes.size());
  EXPECT_EQ(frame->kind, FrameKind::kCommit);
  EXPECT_EQ(frame->sequence, 12U);
  EXPECT_EQ(frame->synced_sequence, 6U);
  ASSERT_EQ(frame->ends.size(), 2U);
  EXPECT_EQ(frame->ends[0].key, (PartitionKey{3, 17}));
  EXPECT_EQ(frame->ends[1].to_bytes, 999);
  EXPECT_EQ(frame->ends[1].to_offset, 1020);
  EXPECT_EQ(frame->ends[1].last_time_ns, 1'767'225'600'000'000'000);
  ASSERT_EQ(frame->positions.size(), 1U);
  EXPECT_EQ(frame->positions[0].group, "group");
  EXPECT_EQ(frame->positions[0].at.offset, 77);
  EXPECT_EQ(frame->positions[0].at.metadata, "metadata");
  ASSERT_EQ(frame->epochs.size(), 1U);
  EXPECT_EQ(frame->epochs[0].id, "committer");
  EXPECT_EQ(frame->epochs[0].epoch, 9U);
}

TEST(CommitFrame, EveryFlippedBitIsDetected) {
  std::string whole;
  ASSERT_TRUE(EncodeFrame(Sample(12), &whole).ok());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    size_t size = 0;
    EXPECT_FALSE(DecodeFrame(bytes, &size).ok()) << "bit " << bit;
  }
}

TEST(CommitFrame, EveryTruncationIsDetected) {
  std::string whole;
  ASSERT_TRUE(EncodeFrame(Sample(12), &whole).ok());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    size_t size = 0;
    EXPECT_FALSE(DecodeFrame(std::string_view(whole).substr(0, bytes), &size).ok());
  }
}

TEST(JournalScan, FindsFramesAfterDamage) {
  std::string journal = JournalHeader(1);
  std::vector<size_t> starts;
  for (uint64_t i = 1; i <= 5; ++i) {
    starts.push_back(journal.size());
    ASSERT_TRUE(EncodeFrame(Sample(i), &journal).ok());
  }
  JournalScan scan = ScanJournal(journal);
  EXPECT_EQ(scan.damage_from, -1);
  EXPECT_EQ(scan.frames.size(), 5U);
  journal[starts[2] + 20] ^= 1;
  scan = ScanJournal(journal);
  EXPECT_EQ(scan.damage_from, static_cast<int64_t>(starts[2]));
  EXPECT_EQ(scan.first_behind, 2U);
  ASSERT_EQ(scan.frames.size(), 4U);
  EXPECT_EQ(scan.frames[2].frame.sequence, 4U);
  EXPECT_EQ(scan.frames[2].from, static_cast<int64_t>(starts[3]));
  // A frame that repeats an old sequence number does not belong to the journal.
  std::string repeated = JournalHeader(1);
  ASSERT_TRUE(EncodeFrame(Sample(2), &repeated).ok());
  ASSERT_TRUE(EncodeFrame(Sample(2), &repeated).ok());
  EXPECT_EQ(ScanJournal(repeated).frames.size(), 1U);
}

}  // namespace
}  // namespace pitwall::log
