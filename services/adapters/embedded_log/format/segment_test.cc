#include "services/adapters/embedded_log/format/segment.h"

#include <gtest/gtest.h>

#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/adapters/embedded_log/segment_recovery.h"
#include "services/adapters/embedded_log/testing/log_test_fixture.h"

namespace pitwall::log {
namespace {

TEST(SegmentName, RoundTripPreservesName) {
  SegmentName plain;
  plain.base_offset = 123;
  EXPECT_EQ(plain.FileName(), "00000000000000000123.seg");
  SegmentName merged;
  merged.base_offset = 5;
  merged.end_offset = 900;
  merged.run = 12;
  EXPECT_EQ(merged.FileName(), "00000000000000000005-00000000000000000900.000012.seg");
  for (const SegmentName& name : {plain, merged}) {
    const auto parsed = SegmentName::Parse(name.FileName());
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->base_offset, name.base_offset);
    EXPECT_EQ(parsed->end_offset, name.end_offset);
    EXPECT_EQ(parsed->run, name.run);
    EXPECT_EQ(parsed->compacted(), name.compacted());
  }
  for (const char* bad : {"", ".seg", "x.seg", "1", "1.seg.tmp", "-1.seg", "1-.seg", "1-2.seg",
                          "1-2.x.seg", "9-2.1.seg", "99999999999999999999.seg"}) {
    EXPECT_FALSE(SegmentName::Parse(bad).has_value()) << bad;
  }
}

class SegmentTest : public EmbeddedLogTest {
 protected:
  void SetUp() override { ASSERT_TRUE(files::MakeDirectories(Dir("p")).ok()); }
  void Touch(std::string_view name) { Spill(Cat(Dir("p"), "/", name), "x"); }
  std::vector<std::string> InForce() {
    std::vector<std::string> names;
    auto files = ListPartition(Dir("p"), nullptr);
    EXPECT_TRUE(files.ok());
    for (const SegmentName& name : files->segments) names.push_back(name.FileName());
    return names;
  }
};

TEST_F(SegmentTest, CompactedFileReplacesFilesInItsRange) {
  const std::string run1 = "00000000000000000000-00000000000000000020.000001.seg";
  const std::string run2 = "00000000000000000000-00000000000000000040.000002.seg";
  const std::string tail = "00000000000000000040.seg";
  for (const std::string& name :
       {run1, run2, tail, std::string("00000000000000000000.seg"),
        std::string("00000000000000000020.seg"), std::string("00000000000000000030.seg"),
        std::string("00000000000000000050-00000000000000000060.000003.seg.tmp")}) {
    Touch(name);
  }
  Touch("notes.txt");
  EXPECT_EQ(InForce(), (std::vector<std::string>{run2, tail}));
  EXPECT_EQ(ListPartition(Dir("p"), nullptr)->leftovers.size(), 5U);
}

TEST_F(SegmentTest, UnfinishedCompaction_OldAndNewFilesAreBothValid) {
  // The second run rewrote only the first two files, so the other output of the first run is still
  // valid.
  Touch("00000000000000000000-00000000000000000020.000002.seg");
  Touch("00000000000000000000-00000000000000000010.000001.seg");
  Touch("00000000000000000010-00000000000000000020.000001.seg");
  Touch("00000000000000000020-00000000000000000030.000001.seg");
  Touch("00000000000000000030.seg");
  EXPECT_EQ(InForce(),
            (std::vector<std::string>{"00000000000000000000-00000000000000000020.000002.seg",
                                      "00000000000000000020-00000000000000000030.000001.seg",
                                      "00000000000000000030.seg"}));
}

// A segment with many batches that span several blocks and index entries.
class LongSegmentTest : public SegmentTest {
 protected:
  static constexpr int kBatches = 3000;

  void SetUp() override {
    SegmentTest::SetUp();
    content_ = SegmentHeader(0);
    BatchBuilder builder;
    for (int i = 0; i < kBatches; ++i) {
      starts_.push_back(static_cast<int64_t>(content_.size()));
      for (int r = 0; r < 2; ++r) {
        OutgoingRecord record;
        record.value = std::string(static_cast<size_t>(50 + i % 200), static_cast<char>('a' + r));
        builder.Add(2 * i + r, i, record);
      }
      builder.Finish(1, false, &content_);
    }
    Write();
  }
  void Write() { Spill(Cat(Dir("p"), "/", SegmentName{}.FileName()), content_); }

  std::string content_;
  std::vector<int64_t> starts_;
};

TEST_F(LongSegmentTest, ReaderReturnsAllBatches) {
  auto segment = std::make_shared<Segment>(Dir("p"), SegmentName{});
  SegmentReader reader(*segment->Open(), kSegmentHeaderBytes,
                       static_cast<int64_t>(content_.size()));
  for (int i = 0; i < kBatches; ++i) {
    ASSERT_EQ(*reader.Next(), SegmentReader::Step::kBatch);
    EXPECT_EQ(reader.at(), starts_[static_cast<size_t>(i)]);
    EXPECT_EQ(reader.header().base_offset, 2 * i);
    BatchDecoder decoder;
    ASSERT_TRUE(decoder.Open(reader.header(), *reader.Payload()).ok());
  }
  EXPECT_EQ(*reader.Next(), SegmentReader::Step::kEnd);
}

TEST_F(LongSegmentTest, IndexFindsAnyOffset) {
  const int64_t limit = static_cast<int64_t>(content_.size());
  for (const int first : {0, 17, 2 * kBatches - 1, kBatches}) {
    Segment segment(Dir("p"), SegmentName{});
    for (int offset = first; offset < 2 * kBatches; offset += 97) {
      const int64_t at = *segment.FindPosition(offset, limit);
      const int64_t exact = starts_[static_cast<size_t>(offset / 2)];
      EXPECT_LE(at, exact);
      EXPECT_GT(at, exact - (70 << 10)) << "the index is too sparse";
    }
    EXPECT_EQ(*segment.LastTime(limit), kBatches - 1);
  }
}

TEST_F(LongSegmentTest, DamageLosesOnlyAffectedBatches) {
  // Damages the headers of three batches, one of them at a block boundary.
  for (const size_t batch : {size_t{5}, size_t{1000}}) {
    content_[static_cast<size_t>(starts_[batch]) + 9] ^= 0x10;
  }
  const size_t border = (size_t{16} << 10);
  for (size_t i = 0; i < 40; ++i) content_[border + i] = 'P';
  Write();
  Segment segment(Dir("p"), SegmentName{});
  SegmentReader reader(*segment.Open(), kSegmentHeaderBytes, static_cast<int64_t>(content_.size()));
  int batches = 0;
  int damages = 0;
  int64_t last = -1;
  for (;;) {
    const auto step = reader.Next();
    ASSERT_TRUE(step.ok());
    if (*step == SegmentReader::Step::kEnd) break;
    if (*step == SegmentReader::Step::kDamage) {
      ++damages;
      EXPECT_LT(reader.damage().from, reader.damage().to);
      continue;
    }
    EXPECT_GT(reader.header().base_offset, last);
    last = reader.header().last_offset();
    ++batches;
  }
  EXPECT_GE(damages, 2);
  EXPECT_GE(batches, kBatches - 4);
  EXPECT_LT(batches, kBatches);
  EXPECT_EQ(last, 2 * kBatches - 1);
}

TEST_F(LongSegmentTest, BatchInsideRecordValueIsIgnored) {
  // Offsets only increase, so an old batch inside a record's value is ignored after damage.
  OutgoingRecord record;
  record.value = content_.substr(static_cast<size_t>(starts_[3]), 300);
  BatchBuilder builder;
  builder.Add(2 * kBatches, 1, record);
  const size_t at = content_.size();
  builder.Finish(1, false, &content_);
  builder.Add(2 * kBatches + 1, 1, record);
  builder.Finish(1, false, &content_);
  content_[at + 5] ^= 1;
  Write();
  Segment segment(Dir("p"), SegmentName{});
  SegmentReader whole(*segment.Open(), kSegmentHeaderBytes, static_cast<int64_t>(content_.size()));
  int64_t last = -1;
  for (;;) {
    const auto step = whole.Next();
    ASSERT_TRUE(step.ok());
    if (*step == SegmentReader::Step::kEnd) break;
    if (*step == SegmentReader::Step::kBatch) last = whole.header().base_offset;
  }
  EXPECT_EQ(last, 2 * kBatches + 1);
}

}  // namespace
}  // namespace pitwall::log
