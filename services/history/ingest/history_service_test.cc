#include "services/history/ingest/history_service.h"
#include "services/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <tuple>

#include "services/history/ingest/archive.h"
#include "services/history/ingest/testing/ingest_fixture.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int64_t kS = kNanosPerSecond;

TEST_F(HistoryServiceTest, EventChange_ContainsRecordSize) {
  Open();
  const uint64_t place = history().newest_place();
  Changed(JobChange::kStarted, kBegin);
  AwaitThat([&] { return history().newest_place() > place; });
  const auto changes = history().ChangesAfter(place, 9);
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_THAT(*changes, SizeIs(1));
  const Change& change = changes->front();
  ASSERT_NE(change.event, nullptr);
  EXPECT_EQ(change.record_bytes, cloudevents::EncodeCloudEvent(*change.event).size());
}

// Tests a job with 2 ranks and 3 steps. The results are correct in memory and bit-identical after a
// restart.
TEST_F(HistoryServiceTest, SmallJob_ResultsAreEqualAfterRestart) {
  Open();
  Changed(JobChange::kStarted, kBegin);
  Changed(JobChange::kAttemptBegan, kBegin);
  for (int64_t rank = 0; rank < 2; ++rank) {
    const Schema schema =
        SchemaOf(1, {{{"__name__", "train_loss"}, {"rank", Cat(rank)}, {"node", "node-1"}}});
    for (int64_t step = 0; step < 3; ++step) {
      OwnedBatch b(Cat("rank-", rank), static_cast<uint64_t>(step) + 1, rank);
      if (step == 0) b.batch.schemas.emplace_back(schema);
      const int64_t end = kBegin + (step + 1) * kS + rank;
      b.Rows(schema, {end}, {1.0 / static_cast<double>(step + 1 + rank)}, {step}, "train");
      b.batch.spans.push_back({Span::Kind::kStep, "", EventTime::FromNs(end - kS),
                               EventTime::FromNs(end), step, "train"});
      Send(b.batch);
    }
  }
  Changed(JobChange::kAttemptEnded, kBegin + 5 * kS, 1, EndDetail::kCompleted);
  Changed(JobChange::kEnded, kBegin + 5 * kS, 1, EndDetail::kCompleted);
  Await();
  for (const bool again : {false, true}) {
    if (again) {
      Close();
      Open();
    }
    SCOPED_TRACE(again ? "after a restart" : "from memory");
    const auto jobs = history().Jobs();
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0]->samples, 6U);
    EXPECT_EQ(jobs[0]->end_detail, EndDetail::kCompleted);
    ASSERT_THAT(jobs[0]->attempts, SizeIs(1));
    EXPECT_EQ(jobs[0]->attempts[0].first_step_ns, kBegin);
    EXPECT_EQ(jobs[0]->attempts[0].last_step_ns, kBegin + 3 * kS + 1);
    SampleQuery query;
    query.job = "job-1";
    query.selectors = {NameIs("train_loss")};
    query.mode = "train";
    query.from_step = 1;
    const auto samples = history().Samples(query);
    ASSERT_TRUE(samples.ok()) << samples.status();
    ASSERT_THAT(*samples, SizeIs(2));
    EXPECT_THAT((*samples)[0].values, ElementsAre(1.0 / 2, 1.0 / 3));
    EXPECT_THAT((*samples)[1].values, ElementsAre(1.0 / 3, 1.0 / 4));
    EXPECT_THAT((*samples)[1].steps, ElementsAre(1, 2));
    EXPECT_THAT((*samples)[1].times, ElementsAre(kBegin + 2 * kS + 1, kBegin + 3 * kS + 1));
    const auto rollups = history().Rollups(query, 0);
    ASSERT_TRUE(rollups.ok()) << rollups.status();
    ASSERT_THAT((*rollups)[0].rows, SizeIs(1));
    EXPECT_EQ((*rollups)[0].rows[0].sum, 1.0 + 1.0 / 2 + 1.0 / 3);
    EXPECT_EQ((*rollups)[0].rows[0].count, 3U);
    SpanQuery spans;
    spans.job = "job-1";
    spans.ranks = {1};
    const auto found = history().Spans(spans);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(*found, SizeIs(3));
    const auto totals = history().Operators(spans);
    ASSERT_TRUE(totals.ok()) << totals.status();
    ASSERT_THAT(*totals, SizeIs(1));
    EXPECT_EQ((*totals)[0].total_ns, 3 * kS);
    const auto events = history().Events("job-1");
    ASSERT_TRUE(events.ok()) << events.status();
    EXPECT_THAT(*events, SizeIs(4));
  }
}

// A rank repeats its state with the current step every 15 s. During a hang, a repeated state must
// not end the step.
TEST_F(HistoryServiceTest, LastStepEndsWhenItsDurationIsReported) {
  Open();
  Changed(JobChange::kStarted, kBegin);
  Changed(JobChange::kAttemptBegan, kBegin);
  const Schema steps = SchemaOf(1, {{{"__name__", "train_step_duration_seconds"}, {"rank", "0"}},
                                    {{"__name__", "train_loss"}, {"rank", "0"}}});
  const Schema state =
      SchemaOf(2, {{{"__name__", "train_phase_state"}, {"rank", "0"}, {"phase", "collective"}}});
  OwnedBatch b("rank-0", 1, 0);
  b.batch.schemas.emplace_back(steps);
  b.batch.schemas.emplace_back(state);
  b.Rows(steps, {kBegin + kS, kBegin + 2 * kS}, {1, 0.5, 1, 0.4}, {0, 1}, "train");
  // This value is logged during the step that later hangs.
  b.Rows(steps, {kBegin + 3 * kS}, {MissingValue(), 0.3}, {2}, "train");
  b.Rows(state, {kBegin + 4 * kS, kBegin + 19 * kS}, {1, 1}, {2, 2}, "train");
  Send(b.batch);
  Await();
  const auto last_step_ns = [&] { return history().Jobs().at(0)->attempts.at(0).last_step_ns; };
  EXPECT_EQ(last_step_ns(), kBegin + 2 * kS);
  Close();
  Open();
  EXPECT_EQ(last_step_ns(), kBegin + 2 * kS);
  records_ = events_ = 0;
  OwnedBatch later("rank-0", 2, 0);
  later.Rows(state, {kBegin + 34 * kS}, {1}, {2}, "train");
  Send(later.batch);
  Await();
  EXPECT_EQ(last_step_ns(), kBegin + 2 * kS) << "also known after a restart";
}

// Compares rollups and quantiles with sums over all sent data. The input covers 35 minutes and
// includes duplicate and reordered batches. The check runs in memory and after sealing.
TEST_F(HistoryServiceTest, AggregatesMatchRawInput) {
  options_.memory_bytes = 50'000;  // windows are sealed early and repeatedly
  Open();
  const Schema schema = SchemaOf(1, {{{"__name__", "hw_gpu_utilization_ratio"}, {"node", "a"}},
                                     {{"__name__", "hw_power_watts"}, {"node", "a"}}});
  std::mt19937_64 random(1);
  std::map<int64_t, double> ratio, power;
  std::vector<OwnedBatch> owned;
  for (int i = 0; i < 420; ++i) {
    OwnedBatch b("node", static_cast<uint64_t>(i) + 1);
    b.batch.schemas.emplace_back(schema);
    std::vector<int64_t> times;
    std::vector<double> cells;
    for (int row = 0; row < 10; ++row) {
      const int64_t time = kBegin + (i * 10 + row) * kS / 2;
      times.push_back(time);
      const double r = static_cast<double>(random() % 1001) / 1000;
      const double w =
          random() % 20 == 0 ? MissingValue() : 100 + static_cast<double>(random() % 30000) / 100;
      cells.insert(cells.end(), {r, w});
      ratio[time] = r;
      if (!IsMissing(w)) power[time] = w;
    }
    b.Rows(schema, times, cells);
    owned.push_back(std::move(b));
  }
  for (size_t i = 0; i + 1 < owned.size(); i += 7) std::swap(owned[i], owned[i + 1]);
  for (size_t i = 0; i < owned.size(); ++i) {
    Send(owned[i].batch);
    if (i % 11 == 0) Send(owned[i / 2].batch);  // the batches repeat, some of them much later
  }
  Await();
  AwaitThat([&] { return keep_->counters().sealed > 0; });
  EXPECT_GT(keep_->counters().duplicates, 30U);
  SeriesQuery query;
  query.job = "job-1";
  for (const bool again : {false, true}) {
    if (again) {
      Close();
      Open();
    }
    EXPECT_EQ((*history().FindJob("job-1"))->samples, ratio.size() + power.size());
    for (size_t tier = 0; tier < kTiers.size(); ++tier) {
      const auto rollups = history().Rollups(query, tier);
      ASSERT_TRUE(rollups.ok()) << rollups.status();
      ASSERT_THAT(*rollups, SizeIs(2));
      // Reading in parts returns the same rows.
      std::map<Labels, std::vector<RollupRow>> visited;
      ASSERT_TRUE(history()
                      .VisitRollups(
                          query, tier, [&] { visited.clear(); },
                          [&](std::span<const RollupPart> parts) {
                            for (const RollupPart& part : parts)
                              part.rows.AppendTo(&visited[part.of->labels]);
                            return OkStatus();
                          })
                      .ok());
      ASSERT_THAT(visited, SizeIs(2));
      for (const RollupColumn& column : *rollups) {
        const std::vector<RollupRow>& rows = visited[column.labels];
        ASSERT_EQ(rows.size(), column.rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
          const RollupRow &a = rows[i], &b = column.rows[i];
          ASSERT_EQ(std::tie(a.start_ns, a.min, a.max, a.sum, a.last, a.count),
                    std::tie(b.start_ns, b.min, b.max, b.sum, b.last, b.count));
        }
      }
      for (size_t s = 0; s < 2; ++s) {
        std::map<int64_t, std::vector<double>> expected;
        for (const auto& [time, value] : s == 0 ? ratio : power)
          expected[time - time % kTiers[tier]].push_back(value);
        ASSERT_EQ((*rollups)[s].rows.size(), expected.size());
        for (const RollupRow& row : (*rollups)[s].rows) {
          const std::vector<double>& values = expected[row.start_ns];
          ASSERT_EQ(row.count, values.size());
          EXPECT_EQ(row.min, *std::min_element(values.begin(), values.end()));
          EXPECT_EQ(row.max, *std::max_element(values.begin(), values.end()));
          EXPECT_EQ(row.last, values.back());
          double sum = 0;
          for (const double v : values) sum += v;
          EXPECT_NEAR(row.sum, sum, 1e-9 * sum);
        }
      }
    }
    const std::vector<double> wanted = {0, 0.5, 0.99, 1};
    const auto rows = history().Quantiles(query, wanted);
    ASSERT_TRUE(rows.ok()) << rows.status();
    ASSERT_THAT(*rows, SizeIs(2));
    for (size_t s = 0; s < 2; ++s) {
      std::vector<double> values;
      for (const auto& [time, value] : s == 0 ? ratio : power) values.push_back(value);
      std::sort(values.begin(), values.end());
      ASSERT_EQ((*rows)[s].count, values.size());
      for (size_t q = 0; q < wanted.size(); ++q) {
        const double exact =
            values[static_cast<size_t>(wanted[q] * static_cast<double>(values.size() - 1))];
        EXPECT_NEAR((*rows)[s].quantiles[q], exact, s == 0 ? 0.0005001 : 0.0101 * exact);
      }
    }
    SampleQuery part;
    part.job = "job-1";
    part.selectors = {NameIs("hw_power_watts")};
    part.range = {kBegin + 599 * kS, kBegin + 1201 * kS};  // across two window boundaries
    const auto samples = history().Samples(part);
    ASSERT_TRUE(samples.ok()) << samples.status();
    std::vector<int64_t> times;
    std::vector<double> values;
    for (const auto& [time, value] : power) {
      if (time < part.range.from_ns || time >= part.range.to_ns) continue;
      times.push_back(time);
      values.push_back(value);
    }
    EXPECT_EQ((*samples)[0].times, times);
    EXPECT_EQ((*samples)[0].values, values);
  }
}

TEST_F(HistoryServiceTest, ArchivesAndDeletesFinishedJob) {
  Open();
  Changed(JobChange::kStarted, kBegin);
  const Schema schema = SchemaOf(1, {{{"__name__", "x"}, {"node", "node-of-job-1"}}});
  OwnedBatch b("source-of-job-1", 1);
  b.batch.schemas.emplace_back(schema);
  b.Rows(schema, {kBegin + kS}, {4});
  Send(b.batch);
  Await();
  EXPECT_TRUE(absl::IsFailedPrecondition(keep_->DeleteJob("job-1")));
  EXPECT_TRUE(absl::IsFailedPrecondition(keep_->ArchiveJob("job-1", dir_ + "-archive")));
  Changed(JobChange::kEnded, kBegin + 2 * kS, 1, EndDetail::kCompleted);
  Await();
  const std::string folder = dir_ + "-archive";
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(keep_->ArchiveJob("job-1", folder).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(keep_->ArchiveJob("job-1", folder)));
  const Status deleted = keep_->DeleteJob("job-1");
  ASSERT_TRUE(deleted.ok()) << deleted;
  EXPECT_TRUE(absl::IsNotFound(history().FindJob("job-1").status()));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(bytes.find("job-1"), std::string::npos) << entry.path();
  }
  // The log still contains the job, but a restart must not ingest it again.
  Close();
  Open();
  AwaitThat([&] { return keep_->Ready().ok(); });
  EXPECT_TRUE(absl::IsNotFound(history().FindJob("job-1").status()));
  const auto archive = Archive::Open(folder);
  ASSERT_TRUE(archive.ok()) << archive.status();
  SampleQuery query;
  query.job = "job-1";
  const auto samples = (*archive)->history().Samples(query);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT((*samples)[0].values, ElementsAre(4));
  EXPECT_THAT(*(*archive)->history().Events("job-1"), SizeIs(2));
  std::filesystem::remove_all(folder);
}

// A damaged segment affects only its own window. The damage is reported, and later data is still
// stored.
class DamagedSegmentTest : public HistoryServiceTest,
                           public ::testing::WithParamInterface<const char*> {
 protected:
  // Truncates the file so that it cannot be opened, or flips a byte in a row. The flipped byte is
  // detected only while a new segment with those rows is being written.
  static void Damage(const std::filesystem::path& path) {
    if (GetParam() == std::string_view("end")) {
      std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
      return;
    }
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    constexpr auto kInFirstPage = static_cast<std::streamoff>(store::kSegmentHead.size() + 2);
    file.seekg(kInFirstPage);
    const int byte = file.get();
    file.seekp(kInFirstPage);
    file.put(static_cast<char>(byte ^ 0x55));
  }
};
INSTANTIATE_TEST_SUITE_P(HistoryService, DamagedSegmentTest, ::testing::Values("end", "row"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(DamagedSegmentTest, OnlyDamagedWindowIsUnreadable) {
  Open();
  const Schema schema = SchemaOf(1, {{{"__name__", "x"}, {"node", "n"}}});
  const auto send = [&](uint64_t sequence, int64_t time_ns) {
    OwnedBatch b("source", sequence);
    b.batch.schemas.emplace_back(schema);
    b.Rows(schema, {time_ns}, {1});
    Send(b.batch);
  };
  send(1, kBegin);
  send(2, kBegin + 700 * kS);
  Await();
  Close();  // Close seals the windows
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
    if (entry.path().filename().string().starts_with(Cat(kBegin / kS))) Damage(entry.path());
  }
  options_.memory_bytes = 100;  // windows are sealed immediately
  Open();
  send(3, kBegin + kS);
  send(4, kBegin + 701 * kS);
  AwaitThat([&] { return absl::IsDataLoss(keep_->Health()) && keep_->counters().samples == 2; });
  SampleQuery query;
  query.job = "job-1";
  EXPECT_TRUE(absl::IsDataLoss(history().Samples(query).status()));
  query.range.from_ns = kBegin + 600 * kS;
  const auto samples = history().Samples(query);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT((*samples)[0].values, SizeIs(2));
  Close();  // before that, other windows may be partially written
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_))
    EXPECT_NE(entry.path().extension(), ".part") << "partial segment not removed";
}

// If the disk is full, raw samples are dropped before rollups. Health reports the full disk, and
// reading resumes once space is available.
TEST_F(HistoryServiceTest, FullDisk_IsReportedAndIngestionResumesWithSpace) {
  options_.faults = std::make_shared<files::DiskFaults>();
  options_.memory_bytes = 10'000;
  Open();
  options_.faults->SetSpace(0);
  const Schema schema = SchemaOf(1, {{{"__name__", "x"}, {"node", "n"}}});
  for (int i = 0; i < 100; ++i) {
    OwnedBatch b("source", static_cast<uint64_t>(i) + 1);
    b.batch.schemas.emplace_back(schema);
    std::vector<int64_t> times;
    for (int row = 0; row < 10; ++row) times.push_back(kBegin + (i * 10 + row) * kS / 10);
    b.Rows(schema, times, std::vector<double>(10, i));
    Send(b.batch);
  }
  AwaitThat([&] { return absl::IsResourceExhausted(keep_->Health()); });
  options_.faults->SetSpace(-1);
  // Ingestion had stopped, so a sealed segment does not imply that all records have been read.
  Await();
  AwaitThat([&] { return keep_->Health().ok() && keep_->counters().sealed > 0; });
  SampleQuery query;
  query.job = "job-1";
  const auto samples = history().Samples(query);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT((*samples)[0].values, SizeIs(1000));
}

}  // namespace
}  // namespace pitwall::history
