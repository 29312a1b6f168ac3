// Tests for flipped bits on disk. Damaged records are reported and skipped, and all other records
// stay readable.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/repair/log_repair.h"
#include "services/adapters/embedded_log/testing/log_test_fixture.h"

namespace pitwall::log {
namespace {

class DamageTest : public EmbeddedLogTest {
 protected:
  static constexpr int kRecords = 12;

  void Fill() {
    MustOpen();
    Topic("t");
    for (int i = 0; i < kRecords; ++i) Append({Out("t", Cat("value ", i))});
    ASSERT_TRUE(log_->StorePosition("g", {"t", 0}, {7, "seven"}).ok());
    log_.reset();
  }
  // Expects opening the log to fail with the location and the repair command. Then repairs the log
  // and expects a second repair to find no damage.
  void MustRepair(std::string_view place) {
    const Status opened = Open();
    ASSERT_EQ(opened.code(), absl::StatusCode::kDataLoss) << opened;
    const std::string message(opened.message());
    EXPECT_NE(message.find(place), std::string::npos) << message;
    EXPECT_NE(message.find(Cat("`pitwall log repair ", options_.dir, "`")), std::string::npos)
        << message;
    const auto check = CheckLog(options_.dir);
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_FALSE(check->startable());
    const auto repaired = RepairLog(options_.dir, false, &clock_);
    ASSERT_TRUE(repaired.ok()) << repaired.status();
    const auto again = RepairLog(options_.dir, false, &clock_);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(again->done.empty()) << again->done[0];
  }
  // Repairs the log, which is damaged in one segment. Returns the records, which must have one gap.
  Readout RepairWithOneLoss(std::string_view segment) {
    MustRepair(segment);
    MustOpen();
    Readout readout = ReadAll("t");
    EXPECT_EQ(readout.losses.size(), 1U);
    return readout;
  }
  // Flips one bit in each byte of the file, one byte at a time, and calls `check` while the log is
  // closed.
  void ForEachFlippedBit(const std::string& path, const std::function<void(size_t byte)>& check) {
    const std::string whole = Slurp(path);
    CopyDir(options_.dir, Dir("whole"));
    for (size_t byte = 0; byte < whole.size() && !HasFatalFailure(); ++byte) {
      std::string content = whole;
      content[byte] = static_cast<char>(content[byte] ^ (1 << (byte % 8)));
      log_.reset();
      CopyDir(Dir("whole"), options_.dir);
      Spill(path, content);
      check(byte);
    }
  }
  static std::vector<std::string> Expected() {
    std::vector<std::string> values;
    for (int i = 0; i < kRecords; ++i) values.push_back(Cat("value ", i));
    return values;
  }
};

TEST_F(DamageTest, FlippedBitInSegmentLosesOnlyItsBatch) {
  Fill();
  const std::string path = Segments("t")[0];
  ForEachFlippedBit(path, [&](size_t byte) {
    if (byte < 16) {  // the file header only repeats the file name, so nothing is lost
      MustOpen();
      EXPECT_EQ(ReadAll("t").values(), Expected());
      EXPECT_EQ(log_->Damage().size(), 1U);
      MustOpen();
      EXPECT_TRUE(log_->Damage().empty());
      return;
    }
    MustRepair(path);
    MustOpen();
    const Readout readout = ReadAll("t");
    ASSERT_EQ(readout.records.size(), kRecords - 1U) << "byte " << byte;
    for (size_t i = 1; i < readout.losses.size(); ++i) ADD_FAILURE() << readout.losses[i];
    ASSERT_EQ(readout.losses.size(), 1U) << readout.losses[0];
    std::vector<std::string> left = Expected();
    for (size_t i = 0; i < left.size(); ++i) {
      if (i < readout.records.size() && readout.records[i].value == left[i]) continue;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    ASSERT_EQ(readout.values(), left);
    const std::string message(readout.losses[0].message());
    EXPECT_NE(message.find("given up"), std::string::npos) << message;
    EXPECT_NE(message.find("offsets"), std::string::npos) << message;
    EXPECT_TRUE(log_->Damage().empty()) << "repaired damage must not be reported again";
    // The log accepts appends after the damage, and readers can seek to any offset.
    Append({Out("t", "new")});
    EXPECT_EQ(ReadAll("t", 0, kRecords).values(), (std::vector<std::string>{"new"}));
    for (int64_t from = 0; from < kRecords; ++from) {
      const Readout part = ReadAll("t", 0, from);
      EXPECT_GE(part.records.size(), static_cast<size_t>(kRecords - from));
    }
  });
}

TEST_F(DamageTest, TruncatedOrMissingSegmentIsReportedAsLoss) {
  options_.segment_bytes = 200;
  options_.compress = false;
  Fill();
  const std::vector<std::string> segments = Segments("t");
  ASSERT_GE(segments.size(), 4U);
  CopyDir(options_.dir, Dir("whole"));
  // A segment in the middle is missing.
  ASSERT_TRUE(files::Remove(segments[1]).ok());
  Readout readout = RepairWithOneLoss(segments[1]);
  EXPECT_LT(readout.records.size(), size_t{kRecords});
  EXPECT_EQ(readout.records.back().value, Expected().back());
  // A segment in the middle is truncated.
  log_.reset();
  CopyDir(Dir("whole"), options_.dir);
  Spill(segments[1], Slurp(segments[1]).substr(0, 120));
  readout = RepairWithOneLoss(segments[1]);
  EXPECT_EQ(readout.records.back().value, Expected().back());
  // The first segment is missing. A reader that starts at the beginning must not mistake the second
  // segment for the first.
  log_.reset();
  CopyDir(Dir("whole"), options_.dir);
  ASSERT_TRUE(files::Remove(segments[0]).ok());
  readout = RepairWithOneLoss(segments[0]);
  EXPECT_EQ(readout.records.back().value, Expected().back());
  // The last segment is truncated. Its flushed records are lost, and new offsets continue after the
  // lost ones.
  log_.reset();
  CopyDir(Dir("whole"), options_.dir);
  Spill(segments.back(), Slurp(segments.back()).substr(0, 60));
  MustRepair(segments.back());
  MustOpen();
  Append({Out("t", "new")});
  readout = ReadAll("t");
  EXPECT_EQ(readout.losses.size(), 1U);
  EXPECT_EQ(readout.records.back().value, "new");
  EXPECT_EQ(readout.records.back().offset, kRecords);
  MustOpen();
  readout = ReadAll("t");
  EXPECT_EQ(readout.losses.size(), 1U);
  EXPECT_EQ(readout.records.back().value, "new");
}

TEST_F(DamageTest, FlippedBitInJournalIsRejectedOrHarmless) {
  Fill();
  const std::string path = Journal();
  const size_t bytes = Slurp(path).size();
  int refused = 0;
  ForEachFlippedBit(path, [&](size_t byte) {
    options_.salvage = false;
    const Status opened = Open();
    if (opened.ok()) {
      EXPECT_EQ(Values("t"), Expected()) << "byte " << byte;
      EXPECT_EQ((*log_->Committed("g", {"t", 0}))->metadata, "seven") << "byte " << byte;
      return;
    }
    ++refused;
    ASSERT_EQ(opened.code(), absl::StatusCode::kDataLoss) << opened;
    EXPECT_NE(std::string(opened.message()).find(path), std::string::npos) << opened;
    // The repair works without the lost frame because each batch contains its commit sequence.
    MustRepair(path);
    MustOpen();
    EXPECT_EQ(Values("t"), Expected()) << "byte " << byte;
    EXPECT_TRUE(log_->Damage().empty());
    Append({Out("t", "new")});
    MustOpen();  // the log stays intact after the repair
    EXPECT_EQ(ReadAll("t", 0, kRecords).values(), (std::vector<std::string>{"new"}));
  });
  EXPECT_GT(refused, static_cast<int>(bytes) / 2);
}

TEST_F(DamageTest, MissingJournalIsNotTreatedAsEmptyLog) {
  Fill();
  ASSERT_TRUE(files::Remove(Journal()).ok());
  EXPECT_EQ(Open().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Segments("t").size(), 1U) << "no segment may be deleted";
  MustRepair("commits");
  MustOpen();
  EXPECT_EQ(Values("t"), Expected());
}

// A journal truncated between two frames is still well-formed.
TEST_F(DamageTest, TruncatedOrOutdatedJournalIsRejected) {
  Fill();
  const std::string path = Journal();
  const std::string whole = Slurp(path);
  CopyDir(options_.dir, Dir("whole"));
  for (const ScannedFrame& frame : ScanJournal(whole).frames) {
    if (frame.to == static_cast<int64_t>(whole.size())) break;
    log_.reset();
    CopyDir(Dir("whole"), options_.dir);
    Spill(path, whole.substr(0, static_cast<size_t>(frame.to)));
    MustRepair(path);
    MustOpen();
    EXPECT_EQ(Values("t"), Expected()) << "cut to " << frame.to;
  }
}

TEST_F(DamageTest, LostRecordsOfCompactedTopicAreReported) {
  options_.segment_bytes = 400;
  options_.compress = false;
  MustOpen();
  Topic("t", 1, true);
  for (int i = 0; i < 40; ++i) Append({Out("t", Cat(i, std::string(30, 'x')), Cat("k", i % 10))});
  ASSERT_TRUE(log_->Maintain().ok());
  log_.reset();
  const std::vector<std::string> segments = Segments("t");
  ASSERT_NE(segments[0].find('-', segments[0].rfind('/')), std::string::npos) << "compacted";
  CopyDir(options_.dir, Dir("whole"));
  const std::string content = Slurp(segments[0]);
  for (const int kind : {0, 1, 2}) {
    log_.reset();
    CopyDir(Dir("whole"), options_.dir);
    if (kind == 0) {
      ASSERT_TRUE(files::Remove(segments[0]).ok());
    }
    if (kind == 1) Spill(segments[0], content.substr(0, 16));
    if (kind == 2) Spill(segments[0], std::string(content.size(), '\0'));
    MustRepair(segments[0]);
    for (int life = 0; life < 2; ++life) {
      MustOpen();
      EXPECT_EQ(ReadAll("t").losses.size(), 1U) << "kind " << kind;
    }
    // Losses are reported for as long as tombstones are kept.
    clock_.Advance((options_.tombstone_retention_ms + 1) * kNanosPerMilli);
    for (int i = 0; i < 40; ++i) Append({Out("t", Cat(i, std::string(30, 'x')), Cat("k", i % 10))});
    ASSERT_TRUE(log_->Maintain().ok());
    MustOpen();
    EXPECT_EQ(ReadAll("t", 0, 0).losses.size(), 0U) << "kind " << kind;
  }
}

TEST_F(DamageTest, RepairRequiresClosedLogAndDryRunChangesNothing) {
  Fill();
  const std::string path = Segments("t")[0];
  MustOpen();
  EXPECT_EQ(RepairLog(options_.dir, false, &clock_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // The lock still holds after the lock file is deleted.
  ASSERT_TRUE(files::Remove(Cat(options_.dir, "/LOCK")).ok());
  EXPECT_EQ(RepairLog(options_.dir, false, &clock_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  log_.reset();
  const std::string cut = Slurp(path).substr(0, 300);
  Spill(path, cut);
  const auto dry = RepairLog(options_.dir, true, &clock_);
  ASSERT_TRUE(dry.ok()) << dry.status();
  EXPECT_FALSE(dry->done.empty());
  EXPECT_EQ(Slurp(path), cut);
  EXPECT_FALSE(files::Exists(Cat(options_.dir, "/quarantine")));
  const auto repaired = RepairLog(options_.dir, false, &clock_);
  ASSERT_EQ(repaired->quarantine.size(), 1U);
  EXPECT_EQ(Slurp(repaired->quarantine[0]), cut);
  EXPECT_EQ(RepairLog(Dir("nothing"), false, &clock_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DamageTest, RandomDamageNeverProducesFalseRecords) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  options_.segment_bytes = 2000;
  MustOpen();
  Topic("t");
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    std::vector<OutgoingRecord> records;
    for (unsigned r = 0; r < 1 + random() % 5; ++r) {
      expected.push_back(Cat(expected.size(), std::string(random() % 100, 'x')));
      records.push_back(Out("t", expected.back()));
    }
    Append(std::move(records));
  }
  log_.reset();
  const std::vector<std::string> segments = Segments("t");
  CopyDir(options_.dir, Dir("whole"));
  options_.salvage = true;  // readers report the damage
  for (int round = 0; round < 60; ++round) {
    log_.reset();
    CopyDir(Dir("whole"), options_.dir);
    for (int hit = 0; hit < 3; ++hit) {
      const std::string& path = segments[random() % segments.size()];
      std::string content = Slurp(path);
      const size_t at = random() % content.size();
      switch (random() % 3) {
        case 0:
          for (size_t i = at; i < std::min(content.size(), at + random() % 600); ++i)
            content[i] = 0;
          break;
        case 1:
          content[at] = static_cast<char>(random());
          break;
        default:  // a copy of another part of the file
          content.replace(at, std::min<size_t>(300, content.size() - at),
                          content.substr(random() % content.size(), 300));
      }
      Spill(path, content);
    }
    MustOpen();
    for (const Record& record : ReadAll("t").records) {
      ASSERT_LT(static_cast<size_t>(record.offset), expected.size());
      ASSERT_EQ(record.value, expected[static_cast<size_t>(record.offset)]);
    }
  }
}

}  // namespace
}  // namespace pitwall::log
