// Tests for unsealed rows, both packed and in files, and for the ends of series.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "services/history/ingest/testing/ingest_fixture.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int64_t kSecond = kNanosPerSecond;

class MemTableRestoreTest : public HistoryServiceTest {
 protected:
  std::vector<SampleColumn> Read(const SampleQuery& query) {
    auto columns = history().Samples(query);
    EXPECT_TRUE(columns.ok()) << columns.status();
    return columns.ok() ? *std::move(columns) : std::vector<SampleColumn>();
  }
};

// The job has 40 columns over 40 minutes, and batches arrive out of time order. The results must be
// equal with too little memory, with enough memory, and after sealing.
TEST_F(MemTableRestoreTest, RowsInFilesEqualRowsInMemory) {
  constexpr int kColumns = 40, kRows = 2400, kBatch = 20;
  std::vector<Labels> labels;
  for (int c = 0; c < kColumns; ++c)
    labels.push_back({{"__name__", c % 2 == 0 ? "even" : "odd"}, {"node", "a"}, {"c", Cat(c)}});
  const Schema schema = SchemaOf(1, labels);
  std::mt19937_64 random(8);
  std::vector<OwnedBatch> batches;
  std::map<int, std::vector<std::pair<int64_t, uint64_t>>> expected;  // (time, bits) by column
  for (int first = 0; first < kRows; first += kBatch) {
    OwnedBatch& b = batches.emplace_back("collector-a", static_cast<uint64_t>(first / kBatch + 1));
    if (first == 0) b.batch.schemas.emplace_back(schema);
    std::vector<int64_t> times;
    std::vector<double> cells;
    for (int row = first; row < first + kBatch; ++row) {
      times.push_back(kBegin + row * kSecond);
      for (int c = 0; c < kColumns; ++c) {
        double value = static_cast<double>(random() % 1000) / 7;
        if (c % 5 == 0) value = c;
        if (random() % 30 == 0) value = MissingValue();
        cells.push_back(value);
        if (!IsMissing(value))
          expected[c].emplace_back(times.back(), std::bit_cast<uint64_t>(value));
      }
    }
    b.Rows(schema, times, cells);
  }
  std::shuffle(batches.begin() + 1, batches.end(), random);
  options_.grace_ns = options_.seal_after_ns =
      24 * 3600 * kSecond;  // no window becomes due, even on a slow machine
  for (const size_t memory : {size_t{100'000}, size_t{64} << 20}) {
    SCOPED_TRACE(memory);
    options_.dir = Cat(dir_, "/", memory);
    options_.memory_bytes = memory;
    // All batches are sent before the first open, because the number of rows read at a time
    // determines which rows are packed when memory is short.
    if (records_ == 0) {
      for (const OwnedBatch& b : batches) Send(b.batch);
    }
    Open();
    Await();
    for (const bool sealed : {false, true}) {
      SCOPED_TRACE(sealed ? "sealed" : "not sealed");
      if (sealed) {
        Close();
        Open();
      } else {
        EXPECT_EQ(keep_->counters().sealed,
                  0U);  // rows that exceeded the memory limit were moved to files
      }
      SampleQuery query;
      query.job = "job-1";
      const std::vector<SampleColumn> columns = Read(query);
      ASSERT_THAT(columns, SizeIs(kColumns));
      for (const SampleColumn& column : columns) {
        const auto& of = expected.at(static_cast<int>(*ParseInt(column.labels.Get("c"))));
        ASSERT_EQ(column.times.size(), of.size()) << column.labels.ToString();
        for (size_t i = 0; i < of.size(); ++i) {
          ASSERT_EQ(column.times[i], of[i].first);
          ASSERT_EQ(std::bit_cast<uint64_t>(column.values[i]), of[i].second);
        }
      }
      // A query for a few columns and part of the time range returns the same rows in parts.
      query.selectors = {Selector{{*Matcher::Make("c", MatchOp::kRegex, "1|17|38")}}};
      query.range = {kBegin + 500 * kSecond, kBegin + 1900 * kSecond + 1};
      const std::vector<SampleColumn> some = Read(query);
      ASSERT_THAT(some, SizeIs(3));
      std::map<Labels, std::vector<double>> parts;
      int count = 0;
      const Status visited = history().VisitSamples(
          query, [&] { parts.clear(); },
          [&](std::vector<SampleColumn> part) {
            ++count;
            for (const SampleColumn& column : part) {
              auto& into = parts[column.labels];
              into.insert(into.end(), column.values.begin(), column.values.end());
            }
            return OkStatus();
          });
      EXPECT_TRUE(visited.ok()) << visited;
      EXPECT_EQ(count, 4);
      for (const SampleColumn& column : some) EXPECT_EQ(parts[column.labels], column.values);
    }
    Close();
  }
}

// Many wide tables have a few unpacked rows each. The rows are moved to the file, and no window is
// sealed before its end.
TEST_F(MemTableRestoreTest, LowMemory_UnpackedRowsMoveToFile) {
  constexpr int kSources = 20, kColumns = 500, kRows = 10;
  options_.grace_ns = options_.seal_after_ns = 24 * 3600 * kSecond;
  options_.memory_bytes = 400'000;  // half of the memory that the rows need
  Open();
  for (int source = 0; source < kSources; ++source) {
    std::vector<Labels> labels;
    for (int c = 0; c < kColumns; ++c)
      labels.push_back({{"__name__", "m"}, {"node", Cat(source)}, {"c", Cat(c)}});
    const Schema schema = SchemaOf(1, labels);
    OwnedBatch b(Cat("collector-", source), 1);
    b.batch.schemas.emplace_back(schema);
    std::vector<int64_t> times;
    for (int row = 0; row < kRows; ++row) times.push_back(kBegin + row * kSecond);
    b.Rows(schema, times, std::vector<double>(size_t{kRows} * kColumns, source));
    Send(b.batch);
  }
  Await();
  EXPECT_EQ(keep_->counters().sealed, 0U);
  SampleQuery query;
  query.job = "job-1";
  const std::vector<SampleColumn> columns = Read(query);
  ASSERT_THAT(columns, SizeIs(kSources * kColumns));
  for (const SampleColumn& column : columns) {
    ASSERT_EQ(column.values, std::vector<double>(
                                 kRows, static_cast<double>(*ParseInt(column.labels.Get("node")))));
  }
}

// The decoder creates a separate copy of a schema that is also in the catalog. Only one copy must
// stay in memory.
TEST(StoredJobTest, RestoredSchemaIsNotDuplicatedInMemory) {
  const Schema schema = SchemaOf(1, {{{"__name__", "x"}, {"node", "a"}}});
  auto restored = std::make_shared<const Schema>(schema);
  const std::weak_ptr<const Schema> watched = restored;
  StoredJob job("job-1", 1);
  job.telemetry().Restore(SharedSchema(std::move(restored)));
  ASSERT_FALSE(watched.expired());
  OwnedBatch b("collector-a", 1);
  b.batch.schemas.emplace_back(schema);
  b.Rows(schema, {kBegin}, {1});
  IngestCounts counts;
  job.Ingest(b.batch, {}, &counts);
  EXPECT_EQ(counts.samples, 1U);
  EXPECT_TRUE(watched.expired());
}

TEST_F(MemTableRestoreTest, SeriesMissingFromNextSchemaEnds) {
  Open();
  const Labels x = {{"__name__", "x"}, {"node", "a"}}, y = {{"__name__", "y"}, {"node", "a"}};
  const Schema both = SchemaOf(1, {x, y}), one = SchemaOf(1, {x}), other = SchemaOf(2, {y});
  const auto send = [&](uint64_t sequence, const Schema& schema, std::vector<int64_t> seconds) {
    OwnedBatch b("collector-a", sequence);
    b.batch.schemas.emplace_back(schema);
    for (int64_t& s : seconds) s = kBegin + s * kSecond;
    std::vector<double> cells(seconds.size() * schema.series.size(), 1.0);
    b.Rows(schema, std::move(seconds), std::move(cells));
    Send(b.batch);
  };
  send(1, both, {1, 2, 3});
  send(2, one, {4, 5});
  send(3, both, {6, 7});
  send(4, one, {8});  // this schema is in use until after the next window starts
  send(5, both, {601, 602});
  send(6, one, {603, 604});
  Await();
  for (const bool sealed : {false, true}) {
    SCOPED_TRACE(sealed ? "sealed" : "not sealed");
    if (sealed) {
      Close();
      Open();
    }
    SampleQuery query;
    query.job = "job-1";
    query.selectors = {NameIs("y")};
    query.stale_markers = true;
    const auto ends = [&] {
      std::vector<int64_t> out;
      const std::vector<SampleColumn> columns = Read(query);
      EXPECT_THAT(columns, SizeIs(1));
      // A repeated query is served from the segment cache.
      const std::vector<SampleColumn> again = Read(query);
      EXPECT_THAT(again, SizeIs(1));
      EXPECT_EQ(again[0].times, columns[0].times);
      for (size_t i = 0; i < columns[0].values.size(); ++i) {
        if (IsStale(columns[0].values[i])) out.push_back((columns[0].times[i] - kBegin) / kSecond);
      }
      return out;
    };
    EXPECT_THAT(ends(), ElementsAre(4, 8, 603));
    query.range = {kBegin + 600 * kSecond, kBegin + 700 * kSecond};
    EXPECT_THAT(ends(), ElementsAre(603));
    query.range = {};
    query.selectors = {NameIs("x")};
    EXPECT_THAT(ends(), ElementsAre(8));  // the series ends because the source is silent
  }
}

// The test has three sources. The first sends two streams, one of which switches between schemas
// with and without series x. The second becomes silent, and the third sends a goodbye. The end of
// one source's series must not affect other sources.
TEST_F(MemTableRestoreTest, SilentSource_OnlyItsSeriesEnd) {
  Open();
  const auto series = [](std::string_view name, std::string_view node) {
    return Labels({{"__name__", name}, {"node", node}});
  };
  uint64_t sequence = 0;
  const auto send = [&](std::string_view source, const Schema& schema, int64_t second,
                        bool goodbye = false) {
    OwnedBatch b(std::string(source), ++sequence);
    b.batch.schemas.emplace_back(schema);
    b.Rows(schema, {kBegin + second * kSecond}, std::vector<double>(schema.series.size(), 1.0));
    b.batch.goodbye = goodbye;
    Send(b.batch);
  };
  const Schema a_x = SchemaOf(1, {series("x", "a")}), a_z = SchemaOf(1, {series("z", "a")});
  const Schema a_xz = SchemaOf(1, {series("x", "a"), series("z", "a")});
  const Schema a_other = SchemaOf(2, {series("w", "a")});
  const Schema b_x = SchemaOf(1, {series("x", "b")}), c_x = SchemaOf(1, {series("x", "c")});
  for (int64_t second = 1; second < 640; ++second) {
    send("collector-a",
         second < 100   ? a_x
         : second < 200 ? a_z
         : second < 610 ? a_xz
                        : a_z,
         second);
    send("collector-a", a_other, second);
    if (second < 300 || second >= 400) send("collector-b", b_x, second);
    if (second <= 500) send("collector-c", c_x, second, second == 500);
  }
  Await();
  for (const bool sealed : {false, true}) {
    SCOPED_TRACE(sealed ? "sealed" : "not sealed");
    if (sealed) {
      Close();
      Open();
    }
    for (const char* kept : {"first", "again"}) {
      SCOPED_TRACE(kept);
      SampleQuery query;
      query.job = "job-1";
      query.selectors = {NameIs("x")};
      query.stale_markers = true;
      std::vector<std::vector<int64_t>> ends;
      for (const SampleColumn& column : Read(query)) {
        ends.emplace_back();
        EXPECT_TRUE(column.steps.empty());
        for (size_t i = 0; i < column.values.size(); ++i) {
          // A series ends one nanosecond after the promise, or at the first row of the next schema.
          if (IsStale(column.values[i]))
            ends.back().push_back((column.times[i] - kBegin) / kSecond);
        }
      }
      ASSERT_THAT(ends, SizeIs(3));
      EXPECT_THAT(ends[0], ElementsAre(100, 610));
      EXPECT_THAT(ends[1], ElementsAre(299));
      EXPECT_THAT(ends[2], ElementsAre(500));
    }
  }
}

// A series has rows with and without steps in consecutive windows.
TEST_F(MemTableRestoreTest, StepsAreReturnedIfAnyRowHasStep) {
  Open();
  const Schema mixed = SchemaOf(1, {{{"__name__", "x"}, {"rank", "0"}}});
  const Schema late = SchemaOf(1, {{{"__name__", "y"}, {"rank", "1"}}});
  const Schema never = SchemaOf(1, {{{"__name__", "z"}, {"rank", "2"}}});
  uint64_t sequence = 0;
  const auto send = [&](int64_t rank, const Schema& schema, int64_t second, int64_t step) {
    OwnedBatch b(Cat("rank-", rank), ++sequence, rank);
    b.batch.schemas.emplace_back(schema);
    std::vector<int64_t> steps;
    if (step >= 0) steps.push_back(step);
    b.Rows(schema, {kBegin + second * kSecond}, {static_cast<double>(second)}, steps,
           step >= 0 ? "train" : "");
    Send(b.batch);
  };
  for (const int64_t second : {1, 2}) send(0, mixed, second, second == 1 ? 4 : -1);
  for (const int64_t second : {3, 601}) send(0, mixed, second, -1);
  send(0, mixed, 1201, 9);
  send(0, mixed, 1801, -1);
  for (const int64_t second : {1, 601, 1201}) send(1, late, second, second == 1201 ? 5 : -1);
  for (const int64_t second : {1, 601, 1201}) send(2, never, second, -1);
  Await();
  for (const bool sealed : {false, true}) {
    SCOPED_TRACE(sealed ? "sealed" : "not sealed");
    if (sealed) {
      Close();
      Open();
    }
    SampleQuery query;
    query.job = "job-1";
    const std::vector<SampleColumn> columns = Read(query);
    ASSERT_THAT(columns, SizeIs(3));
    EXPECT_THAT(columns[0].values, ElementsAre(1, 2, 3, 601, 1201, 1801));
    EXPECT_THAT(columns[0].steps, ElementsAre(4, kNoStep, kNoStep, kNoStep, 9, kNoStep));
    EXPECT_THAT(columns[1].steps, ElementsAre(kNoStep, kNoStep, 5));
    EXPECT_THAT(columns[2].values, ElementsAre(1, 601, 1201));
    EXPECT_TRUE(columns[2].steps.empty());
    query.mode = "train";
    query.from_step = 0;
    const std::vector<SampleColumn> trained = Read(query);
    ASSERT_THAT(trained, SizeIs(2));
    EXPECT_THAT(trained[0].values, ElementsAre(1, 1201));
    EXPECT_THAT(trained[0].steps, ElementsAre(4, 9));
    EXPECT_THAT(trained[1].steps, ElementsAre(5));
  }
}

}  // namespace
}  // namespace pitwall::history
