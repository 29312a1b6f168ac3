// Tests, using generated jobs, that step heat maps from summaries of sealed windows are
// bit-identical to heat maps from samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "services/adapters/store/segment_reader.h"
#include "services/adapters/store/segment_writer.h"
#include "services/history/ingest/testing/ingest_fixture.h"
#include "services/history/segments/step_index.h"
#include "services/history/views/as_of.h"
#include "services/history/views/steps/heat_map.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;

// Forwards the step windows of another history, with or without their summaries, and counts reads.
class ForwardingHistory : public History {
 public:
  ForwardingHistory(const History* of, bool summaries) : of_(*of), summaries_(summaries) {}
  Status VisitStepWindows(const SampleQuery& query,
                          const std::function<Status(const StepWindows&)>& visit) const override {
    return of_.VisitStepWindows(query, [&](const StepWindows& windows) {
      std::vector<Window> own;
      own.reserve(windows.size());
      StepWindows wrapped;
      for (const StepWindow* window : windows)
        wrapped.push_back(&own.emplace_back(window, summaries_, this));
      return visit(wrapped);
    });
  }
  JobList ListJobs() const override { return of_.ListJobs(); }
  StatusOr<JobLifePtr> FindJob(std::string_view job) const override { return of_.FindJob(job); }
  StatusOr<std::vector<SeriesInfo>> Series(const SeriesQuery& q) const override {
    return of_.Series(q);
  }
  StatusOr<std::vector<SampleColumn>> Samples(const SampleQuery& q) const override {
    return of_.Samples(q);
  }
  StatusOr<std::vector<RollupColumn>> Rollups(const SeriesQuery& q, size_t tier) const override {
    return of_.Rollups(q, tier);
  }
  StatusOr<std::vector<QuantileRow>> Quantiles(const SeriesQuery& q,
                                               std::span<const double> at) const override {
    return of_.Quantiles(q, at);
  }
  StatusOr<SpanPage> SpansPage(const SpanQuery& q, size_t first, size_t most) const override {
    return of_.SpansPage(q, first, most);
  }
  StatusOr<std::vector<OperatorTotal>> Operators(const SpanQuery& q) const override {
    return of_.Operators(q);
  }
  StatusOr<JobRecords> Records(std::string_view job, EventTopic topic) const override {
    return of_.Records(job, topic);
  }
  const ChangeFeed& changes() const override { return of_.changes(); }

  mutable size_t samples_read = 0, blocks_read = 0;  // number of windows

 private:
  struct Window final : StepWindow {
    Window(const StepWindow* window, bool with_summary, const ForwardingHistory* by)
        : of(*window), summaries(with_summary), reader(by) {}
    StatusOr<StepSummaryPtr> Summary(StepBasis basis) const override {
      return summaries ? of.Summary(basis) : StepSummaryPtr();
    }
    StatusOr<StepBlocksPtr> Blocks(StepBasis basis, size_t level) const override {
      ++reader->blocks_read;
      return of.Blocks(basis, level);
    }
    Status Samples(
        const std::function<Status(const std::vector<SampleColumn>&)>& visit) const override {
      ++reader->samples_read;
      return of.Samples(visit);
    }
    const StepWindow& of;
    const bool summaries;
    const ForwardingHistory* const reader;
  };
  const History& of_;
  const bool summaries_;
};

// Disturbances of a generated job.
struct Disturbances {
  unsigned seed = 1;
  bool drift = false;         // ranks do not wait for each other
  bool lost = false;          // some ranks end early, and some steps of other ranks are missing
  bool attempts = false;      // the job goes back to an earlier step and repeats steps
  bool late = false;          // rows arrive after their window was sealed
  bool evaluates = false;     // steps of another mode occur in between
  bool missing_wait = false;  // one step has no reported wait
  bool relabeled = false;     // the series of some ranks get a different label
};

class StepWindowsTest : public HistoryServiceTest {
 protected:
  StepWindowsTest() { options_.save_interval_ns = kSecond; }

  static constexpr int kRanks = 48;
  static constexpr int kSteps = 470;  // four windows, at 5 s per step

  struct Row {
    int64_t time = 0, step = 0;
    std::string mode;
    std::vector<double> cells;
  };

  static Schema SchemaOfRank(int rank, bool other) {
    const auto labels = [&](std::string_view metric) {
      return Labels{{"__name__", metric}, {"rank", Cat(rank)}, {"node", other ? "n9" : "n1"}};
    };
    return SchemaOf(
        1, {labels("train_step_duration_seconds"),
            labels("train_phase_duration_seconds").With("phase", "collective"),
            labels("train_phase_duration_seconds").With("phase", "forward"),
            labels("train_collective_time_seconds").With("clock", "gpu").With("group", "dp"),
            labels("train_collective_time_seconds").With("clock", "gpu").With("group", "tp"),
            labels("train_collective_time_seconds").With("clock", "host").With("group", "dp")});
  }

  // Returns the rows of all ranks, by rank and boot.
  std::map<std::pair<int, int>, std::vector<Row>> Make(const Disturbances& story) {
    std::mt19937_64 random(story.seed);
    const auto noise = [&] { return static_cast<double>(random() % 1'000'000) / 1e6; };
    std::map<std::pair<int, int>, std::vector<Row>> out;
    for (int rank = 0; rank < kRanks; ++rank) {
      int64_t begin = kBegin;  // start time of step 0
      int64_t slower = 0;      // accumulated delay of the rank
      int boot = 0;
      for (int step = 0; step < kSteps; ++step) {
        if (story.attempts && boot == 0 && step == 230) {
          ++boot;
          step = 205;  // the job restarts from a checkpoint
          begin += 275 * kSecond;
        }
        if (story.lost && rank % 11 == 5 && step > 150 + rank) break;
        const double seconds = 4.5 + noise() + (rank == 7 ? 0.5 : 0);
        if (story.drift && rank % 5 == 0) slower += kSecond / 10;
        int64_t time =
            begin + int64_t{step + 1} * 5 * kSecond + slower + static_cast<int64_t>(noise() * 3e8);
        if (story.lost && random() % 17 == 0) continue;
        const bool silent = story.missing_wait && rank == 3 && step == 300;
        const bool has_wait = random() % 4 != 0;
        const auto cell = [&](double value) { return silent ? MissingValue() : value; };
        out[{rank, boot}].push_back(
            {time,
             step,
             "train",
             {seconds, cell(noise() / 2), noise(), has_wait ? cell(noise() / 4) : MissingValue(),
              has_wait ? cell(noise() / 4) : MissingValue(), cell(noise() / 3)}});
        if (!story.evaluates || step % 3 != 0) continue;
        time += kSecond / 100;
        out[{rank, boot}].push_back({time, step / 3, "eval", {noise() + 1, noise(), 0, 0, 0, 0}});
      }
    }
    return out;
  }

  // Sends every `parts`th batch, starting with batch number `part`. Tests send the remaining
  // batches late.
  void SendRows(const Disturbances& story, size_t part, size_t parts) {
    for (const auto& [key, rows] : Make(story)) {
      const auto& [rank, boot] = key;
      uint64_t sequence = 0;
      for (size_t from = 0; from < rows.size(); from += 10) {
        ++sequence;
        if (sequence % parts != part) continue;
        for (const std::string mode : {"train", "eval"}) {
          const Schema schema = SchemaOfRank(rank, story.relabeled && rank % 3 == 0 && from >= 200);
          std::vector<int64_t> times, steps;
          std::vector<double> cells;
          for (size_t i = from; i < std::min(rows.size(), from + 10); ++i) {
            if (rows[i].mode != mode) continue;
            times.push_back(rows[i].time);
            steps.push_back(rows[i].step);
            cells.insert(cells.end(), rows[i].cells.begin(), rows[i].cells.end());
          }
          if (times.empty()) continue;
          OwnedBatch b(Cat("rank-", rank), 2 * sequence + (mode == "eval" ? 1 : 0), rank);
          b.batch.boot_id = Cat("boot-", boot);
          b.batch.schemas.emplace_back(schema);
          b.Rows(schema, times, cells, steps, mode);
          Send(b.batch);
          if (sequence % 5 == 0) Send(b.batch);  // a duplicate
        }
      }
    }
    Await();
  }
  void Seal() {
    Close();
    records_ = events_ = 0;
    Open();
  }

  struct Read {
    size_t samples = 0, blocks = 0;  // number of windows read
  };
  // Compares all kinds of queries with and without summaries.
  Read Compare(const History& history) {
    const ForwardingHistory by_samples(&history, false), by_summaries(&history, true);
    const JobLifePtr job = *history.FindJob("job-1");
    for (const std::string mode : {"train", "eval", "other"}) {
      for (const bool own : {false, true}) {
        for (const size_t width : {2, 5, 30, 61, 110, 470, 800}) {
          for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{
                   {0, kMaxPosition}, {17, 433}, {16, 448}, {100, 320}, {203, 204}, {2, 300}}) {
            StepQuery query;
            query.job = job;
            query.mode = mode;
            query.from_step = from;
            query.to_step = to;
            Check(by_samples, by_summaries, query, width, own);
          }
        }
        for (const int64_t from : {0, 600, 777}) {
          StepQuery query;
          query.job = job;
          query.mode = mode;
          query.range = {kBegin + from * kSecond, kBegin + 1800 * kSecond};
          Check(by_samples, by_summaries, query, 40, own);
          const HistoryAsOf then(&by_samples, kBegin + 1555 * kSecond);
          const HistoryAsOf now(&by_summaries, kBegin + 1555 * kSecond);
          Check(then, now, query, 40, own);
        }
      }
    }
    EXPECT_EQ(by_samples.blocks_read, 0U);
    return {by_summaries.samples_read, by_summaries.blocks_read};
  }
  static void Check(const History& by_samples, const History& by_summaries, const StepQuery& query,
                    size_t width, bool own) {
    SCOPED_TRACE(Cat(query.mode, own ? " own " : " ", width, " columns, steps ", query.from_step,
                     " to ", query.to_step, ", from ", query.range.from_ns));
    const auto right = MakeStepHeatMap(by_samples, query, width, own);
    const auto map = MakeStepHeatMap(by_summaries, query, width, own);
    ASSERT_TRUE(right.ok()) << right.status();
    ASSERT_TRUE(map.ok()) << map.status();
    EXPECT_EQ(map->own_time, right->own_time);
    EXPECT_EQ(map->from_step, right->from_step);
    EXPECT_EQ(map->to_step, right->to_step);
    EXPECT_EQ(map->bucket_steps, right->bucket_steps);
    EXPECT_TRUE(Same(map->medians, right->medians));
    ASSERT_EQ(map->rows.size(), right->rows.size());
    for (size_t r = 0; r < map->rows.size(); ++r) {
      EXPECT_EQ(map->rows[r].rank, right->rows[r].rank);
      EXPECT_EQ(map->rows[r].node, right->rows[r].node);
      EXPECT_TRUE(Same(map->rows[r].cells, right->rows[r].cells)) << "rank " << map->rows[r].rank;
    }
  }
  // Returns true if the values are bit-identical. All NaN values count as identical.
  static bool Same(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
      return x == y || (std::isnan(x) && std::isnan(y));
    });
  }

  // Rewrites all segments without summaries, and removes the catalog.
  void RewriteWithoutSummaries() {
    Close();
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
      if (entry.path().extension() == ".seg") paths.push_back(entry.path().string());
    }
    ASSERT_FALSE(paths.empty());
    for (const std::string& path : paths) {
      const auto reader = *store::SegmentReader::Open(path);
      const auto writer = *store::SegmentWriter::Create(path);
      for (size_t number = 0; number < reader->entries().size(); ++number) {
        const store::TablePtr table = *reader->TableAt(number);
        if (table->key == kStepsTable) continue;
        const size_t to = *writer->AddTable(table->kind, table->key, table->columns);
        for (size_t g = 0; g < table->groups.size(); ++g)
          CopyGroup(*reader, *table, g, *writer, to);
      }
      ASSERT_TRUE(writer->Finish().ok());
    }
    RemoveCatalogue();
  }
  void RemoveCatalogue() {
    Close();
    for (const char* name : {"catalogue.db", "catalogue.db-wal", "catalogue.db-shm"})
      std::filesystem::remove(Cat(dir_, "/", name));
  }
  static void CopyGroup(const store::SegmentReader& reader, const store::Table& table, size_t group,
                        store::SegmentWriter& writer, size_t to) {
    const size_t columns = table.columns.size();
    std::vector<std::vector<int64_t>> ints(columns);
    std::vector<std::vector<double>> values(columns);
    std::vector<std::vector<std::string>> texts(columns);
    std::vector<store::ColumnRows> rows;
    blocks::BlockDecoder decoder;
    for (size_t c = 0; c < columns; ++c) {
      switch (table.columns[c]) {
        case store::ColumnType::kInt:
          ASSERT_TRUE(reader.ReadInts(table, group, c, &ints[c]).ok());
          rows.emplace_back(std::span<const int64_t>(ints[c]));
          break;
        case store::ColumnType::kValue:
          ASSERT_TRUE(reader.ReadValues(table, group, c, &decoder, &values[c]).ok());
          rows.emplace_back(std::span<const double>(values[c]));
          break;
        case store::ColumnType::kText:
          ASSERT_TRUE(reader.ReadTexts(table, group, c, &texts[c]).ok());
          rows.emplace_back(std::span<const std::string>(texts[c]));
          break;
      }
    }
    ASSERT_TRUE(writer.AddRows(to, rows, nullptr).ok());
  }
};

TEST_F(StepWindowsTest, HeatMapOfSteadyJobReadsNoSamples) {
  Open();
  SendRows({}, 0, 1);
  Compare(history());  // The rows are in memory. On a slow machine, they may have been sealed.
  Seal();
  Read read = Compare(history());
  EXPECT_GT(read.blocks, 0U);
  StepQuery query;
  query.job = *history().FindJob("job-1");
  for (const bool own : {false, true}) {
    const ForwardingHistory whole(&history(), true);
    ASSERT_TRUE(MakeStepHeatMap(whole, query, 60, own).ok());
    EXPECT_EQ(whole.samples_read, 0U);
    EXPECT_EQ(whole.blocks_read, 4U);
  }
  RemoveCatalogue();  // The segments and their summaries suffice to rebuild the catalog.
  Open();
  EXPECT_EQ(Compare(history()).blocks, read.blocks);
}

TEST_F(StepWindowsTest, SegmentsWithoutSummaries_FallBackToSamples) {
  Open();
  SendRows({.attempts = true, .evaluates = true}, 0, 1);
  Seal();
  EXPECT_GT(Compare(history()).blocks, 0U);
  StepQuery query;
  query.job = *history().FindJob("job-1");
  const StepHeatMap before = *MakeStepHeatMap(history(), query, 60, true);
  RewriteWithoutSummaries();
  Open();
  EXPECT_EQ(Compare(history()).blocks, 0U);
  const StepHeatMap after = *MakeStepHeatMap(history(), query, 60, true);
  EXPECT_TRUE(Same(after.medians, before.medians));
  ASSERT_EQ(after.rows.size(), before.rows.size());
  for (size_t r = 0; r < after.rows.size(); ++r)
    EXPECT_TRUE(Same(after.rows[r].cells, before.rows[r].cells));
}

TEST_F(StepWindowsTest, DamagedSummaryIsReported) {
  Open();
  SendRows({}, 0, 1);
  Seal();
  StepQuery query;
  query.job = *history().FindJob("job-1");
  Close();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
    if (entry.path().extension() != ".seg") continue;
    const std::string path = entry.path().string();
    const auto reader = *store::SegmentReader::Open(path);
    for (size_t number = 0; number < reader->entries().size(); ++number) {
      const store::TablePtr table = *reader->TableAt(number);
      if (table->key != kStepsTable) continue;
      const auto file = *files::File::Open(path, files::File::Mode::kWrite);
      const auto at = static_cast<int64_t>(table->groups[0].pages[1].offset) + 9;
      char byte = 0;
      ASSERT_TRUE(file->ReadAt(at, &byte, 1).ok());
      byte = static_cast<char>(byte ^ 4);
      ASSERT_TRUE(file->WriteAt(at, std::string_view(&byte, 1)).ok());
    }
  }
  Open();
  const auto map = MakeStepHeatMap(history(), query, 60);
  EXPECT_TRUE(absl::IsDataLoss(map.status())) << map.status();
  EXPECT_THAT(map.status().ToString(), ::testing::HasSubstr("damaged"));
}

class GeneratedJobs : public StepWindowsTest, public ::testing::WithParamInterface<int> {};

TEST_P(GeneratedJobs, SummariesMatchSamples) {
  const auto bits = static_cast<unsigned>(GetParam());
  const auto has = [&](unsigned bit) { return (bits >> bit & 1) != 0; };
  const Disturbances story = {bits + 1, has(0), has(1), has(2), has(3), has(4), has(5), has(6)};
  Open();
  const size_t parts = story.late ? 2 : 1;
  SendRows(story, parts - 1, parts);
  Seal();
  const Read first = Compare(history());
  if (!story.late) {
    EXPECT_GT(first.blocks, 0U);
    return;
  }
  SendRows(story, 0, parts);
  // Part of each window is in memory. On a slow machine, it may already have been resealed.
  Compare(history());
  Seal();
  EXPECT_GT(Compare(history()).blocks, 0U);
}

#ifdef PITWALL_SANITIZED
// With a sanitizer, running all combinations would take minutes.
INSTANTIATE_TEST_SUITE_P(Stories, GeneratedJobs, ::testing::Values(0b0010111));
#else
// The cases cover each disturbance alone, and combinations of disturbances.
INSTANTIATE_TEST_SUITE_P(Stories, GeneratedJobs,
                         ::testing::Values(0b0000001, 0b0000010, 0b0000100, 0b0001000, 0b0010000,
                                           0b0100000, 0b1000000, 0b0001110, 0b0010111, 0b1011010,
                                           0b0111100, 0b1111111));
#endif

}  // namespace
}  // namespace pitwall::history
