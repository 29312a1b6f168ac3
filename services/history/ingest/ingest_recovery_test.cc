// Tests for startup with a catalog and segments that do not match (issue 26, F1). Startup must
// never delete a segment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "services/history/ingest/testing/ingest_fixture.h"

namespace pitwall::history {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kWindow = 600 * kNanosPerSecond;

class IngestRecoveryTest : public HistoryServiceTest {
 protected:
  // Sends one row in each window.
  void SendWindows(int from, int to) {
    const Schema schema = SchemaOf(1, {{{"__name__", "x"}, {"node", "n"}}});
    for (int window = from; window < to; ++window) {
      OwnedBatch b("source", static_cast<uint64_t>(window) + 1);
      b.batch.schemas.emplace_back(schema);
      b.Rows(schema, {kBegin + window * kWindow}, {1});
      Send(b.batch);
    }
  }
  void Keep3Windows() {
    Open();
    SendWindows(0, 3);
    Await();
    Close();  // Close seals the windows
  }
  void OpenAgain() {
    records_ = events_ = 0;
    Open();
  }
  // Opens the store with an empty log, so that only the disk has data.
  void OpenWithoutLog() {
    options_.topics.telemetry = "empty.telemetry";
    options_.topics.issues = "empty.issues";
    for (const std::string& topic : {options_.topics.telemetry, options_.topics.issues})
      ASSERT_TRUE(log_.EnsureTopic(topic, {.partitions = 1}).ok());
    Open();
  }
  StatusOr<size_t> Samples() const {
    SampleQuery query;
    query.job = "job-1";
    ASSIGN_OR_RETURN(const auto columns, history().Samples(query));
    return columns.empty() ? 0 : columns[0].values.size();
  }
  std::vector<fs::path> FilesIn(std::string_view folder) const {
    std::vector<fs::path> out;
    if (!fs::exists(fs::path(dir_) / folder)) return out;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(dir_) / folder)) {
      if (!entry.is_directory()) out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string catalogue() const { return dir_ + "/catalogue.db"; }
  void RemoveCatalogue() const {
    for (const char* end : {"", "-wal", "-shm"}) fs::remove(catalogue() + end);
  }
};

TEST_F(IngestRecoveryTest, EmptyCatalog_AdoptsEverySegment) {
  Keep3Windows();
  RemoveCatalogue();
  std::ofstream(catalogue()).close();
  OpenWithoutLog();
  EXPECT_EQ(keep_->counters().adopted, 3U);
  EXPECT_THAT(FilesIn("segments"), SizeIs(3));
  EXPECT_EQ(*Samples(), 3U);
  EXPECT_EQ((*history().FindJob("job-1"))->last_ns, kBegin + 2 * kWindow);
  Close();
  Open();  // the adoption is persistent
  EXPECT_EQ(keep_->counters().adopted, 0U);
  EXPECT_EQ(*Samples(), 3U);
}

TEST_F(IngestRecoveryTest, LogRecreatedWhileRunning_ReadsNewLogAndKeepsData) {
  Open();
  SendWindows(0, 3);
  Await();
  log_.Recreate(kTelemetryTopic);
  SendWindows(3, 4);
  Await();
  EXPECT_EQ(*Samples(), 4U);
}

TEST_F(IngestRecoveryTest, JobDeletedInFormerLog_IsReadFromNewLog) {
  Open();
  SendWindows(0, 3);
  Changed(JobChange::kEnded, kBegin + 3 * kWindow, 1, EndDetail::kCompleted);
  Await();
  const Status deleted = keep_->DeleteJob("job-1");
  ASSERT_TRUE(deleted.ok()) << deleted;
  log_.Recreate(kTelemetryTopic);
  SendWindows(3, 4);
  Await();
  EXPECT_EQ(*Samples(), 1U);
}

TEST_F(IngestRecoveryTest, DeletedCatalog_AdoptsEverySegment) {
  Keep3Windows();
  RemoveCatalogue();
  OpenWithoutLog();
  EXPECT_EQ(keep_->counters().adopted, 3U);
  EXPECT_EQ(*Samples(), 3U);
}

TEST_F(IngestRecoveryTest, OlderCatalog_AdoptsNewerSegments) {
  Keep3Windows();
  const std::string copy = dir_ + "-older.db";
  fs::copy_file(catalogue(), copy, fs::copy_options::overwrite_existing);
  OpenAgain();
  SendWindows(3, 5);
  const Schema schema = SchemaOf(1, {{{"__name__", "x"}, {"node", "n"}}});
  OwnedBatch late("source", 9);  // the first window is sealed again with a new generation
  late.Rows(schema, {kBegin + kNanosPerSecond}, {1});
  Send(late.batch);
  Await();
  Close();
  RemoveCatalogue();
  fs::rename(copy, catalogue());
  OpenWithoutLog();
  EXPECT_EQ(keep_->counters().adopted, 3U);
  EXPECT_EQ(keep_->counters().missing, 0U);  // the first window has a newer generation
  EXPECT_TRUE(keep_->Health().ok()) << keep_->Health();
  EXPECT_THAT(FilesIn("segments"), SizeIs(5));
  EXPECT_EQ(*Samples(), 6U);
}

// The write-ahead file contains all changes since the last checkpoint, so its loss reverts the
// catalog to that checkpoint.
TEST_F(IngestRecoveryTest, LostOrTruncatedWriteAheadFile_AdoptsEverySegment) {
  const std::string copy = dir_ + "-copy";
  const std::string telemetry = options_.topics.telemetry;
  SendWindows(0, 3);
  options_.memory_bytes = 100;  // windows are sealed immediately
  for (const double share : {0.0, 0.5}) {
    fs::remove_all(copy);
    fs::remove_all(dir_);
    options_.topics.telemetry = telemetry;
    Open();
    AwaitThat([&] { return keep_->counters().sealed >= 3; });
    fs::copy(dir_, copy, fs::copy_options::recursive);
    Close();
    fs::remove_all(dir_);
    fs::rename(copy, dir_);
    fs::remove(catalogue() + "-shm");
    const auto bytes = static_cast<double>(fs::file_size(catalogue() + "-wal"));
    fs::resize_file(catalogue() + "-wal", static_cast<uintmax_t>(bytes * share));
    OpenWithoutLog();
    EXPECT_THAT(FilesIn("segments"), SizeIs(3));
    EXPECT_EQ(*Samples(), 3U);
    Close();
  }
}

TEST_F(IngestRecoveryTest, CorruptCatalog_FailsAndKeepsSegments) {
  Keep3Windows();
  std::ofstream(catalogue(), std::ios::binary | std::ios::trunc) << std::string(8192, 'x');
  const auto opened = HistoryService::Open(&clock_, &log_, options_);
  EXPECT_TRUE(absl::IsDataLoss(opened.status())) << opened.status();
  EXPECT_THAT(FilesIn("segments"), SizeIs(3));
}

TEST_F(IngestRecoveryTest, UnknownDamagedSegment_MovesToQuarantine) {
  Keep3Windows();
  RemoveCatalogue();
  const auto files = FilesIn("segments");
  fs::resize_file(files[1], fs::file_size(files[1]) / 2);
  OpenWithoutLog();
  EXPECT_EQ(keep_->counters().adopted, 2U);
  EXPECT_EQ(keep_->counters().quarantined, 1U);
  EXPECT_THAT(FilesIn("quarantine"), SizeIs(1));
  EXPECT_EQ(*Samples(), 2U);
}

// The history starts without the window of such a segment, whether the catalog lists it or not.
TEST_F(IngestRecoveryTest, SegmentOfFormerFormat_IsReportedAndOthersAreServed) {
  Keep3Windows();
  const fs::path former = FilesIn("segments")[1];
  {
    std::fstream file(former, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(store::kSegmentMagic.size()));
    file.put(3);
  }
  OpenWithoutLog();
  const Status status = Samples().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(ToStd(status.message())),
              AllOf(HasSubstr(former.string()), HasSubstr("segment format 3 is not supported"),
                    HasSubstr("rebuilds the history from the log")));
  EXPECT_TRUE(absl::IsDataLoss(keep_->Health())) << keep_->Health();
  SampleQuery query;
  query.job = "job-1";
  query.range = {kBegin, kBegin + kWindow};
  EXPECT_THAT(*history().Samples(query), SizeIs(1));
  Close();
  RemoveCatalogue();
  OpenWithoutLog();
  EXPECT_EQ(keep_->counters().adopted, 2U);
  EXPECT_EQ(keep_->counters().quarantined, 1U);
  EXPECT_EQ(*Samples(), 2U);
}

TEST_F(IngestRecoveryTest, MissingSegment_IsCountedAndOthersAreKept) {
  Keep3Windows();
  fs::remove(FilesIn("segments")[0]);
  OpenWithoutLog();
  EXPECT_EQ(keep_->counters().missing, 1U);
  EXPECT_TRUE(absl::IsDataLoss(keep_->Health())) << keep_->Health();
  EXPECT_TRUE(absl::IsDataLoss(Samples().status()));
  EXPECT_THAT(FilesIn("segments"), SizeIs(2));
}

// A read that finds damage makes the history unhealthy (issue 26, F5).
TEST_F(IngestRecoveryTest, DamagedPage_ReadMakesHistoryUnhealthy) {
  Keep3Windows();
  {
    std::fstream file(FilesIn("segments")[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(store::kSegmentHead.size() + 2));
    file.put('\x55').put('\xaa').put('\x55');
  }
  OpenWithoutLog();
  EXPECT_TRUE(keep_->Health().ok()) << keep_->Health();
  EXPECT_TRUE(absl::IsDataLoss(Samples().status())) << Samples().status();
  EXPECT_TRUE(absl::IsDataLoss(keep_->Health())) << keep_->Health();
}

// Opening a FIFO blocks until a writer opens it, so the file type must be checked first.
TEST_F(IngestRecoveryTest, FifoInPlaceOfSegment_IsReportedAsDamage) {
  Keep3Windows();
  const fs::path path = FilesIn("segments")[0];
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  OpenWithoutLog();
  EXPECT_EQ(keep_->counters().missing, 1U);
  EXPECT_TRUE(absl::IsDataLoss(Samples().status())) << Samples().status();
  Close();
  RemoveCatalogue();
  Open();  // the catalog no longer has the segment
  EXPECT_EQ(keep_->counters().quarantined, 1U);
  EXPECT_EQ(*Samples(), 2U);
}

// A segment that cannot be opened because of the file descriptor limit does not count as damaged.
TEST_F(IngestRecoveryTest, FewFileDescriptors_AllSegmentsAreAdopted) {
  Open();
  SendWindows(0, 40);
  Await();
  Close();
  RemoveCatalogue();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 30;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto opened = HistoryService::Open(&clock_, &log_, options_);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ((*opened)->counters().adopted, 40U);
  EXPECT_EQ((*opened)->counters().quarantined, 0U);
  EXPECT_THAT(FilesIn("quarantine"), IsEmpty());
}

// A deletion renames the folder before it commits to the catalog.
TEST_F(IngestRecoveryTest, UncommittedDeletion_KeepsJob) {
  Keep3Windows();
  const fs::path folder = FilesIn("segments")[0].parent_path();
  fs::rename(folder, folder.string() + ".deleted");
  OpenWithoutLog();
  EXPECT_EQ(keep_->counters().missing, 0U);
  EXPECT_EQ(*Samples(), 3U);
}

}  // namespace
}  // namespace pitwall::history
