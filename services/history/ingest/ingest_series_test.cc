// Tests for the derived series of the history (means over a node's cores and GPUs), span queries
// that use the index, and clock jumps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>
#include <tuple>

#include "services/base/cancellation.h"
#include "services/base/time.h"
#include "services/history/ingest/testing/ingest_fixture.h"
#include "services/history/windows/node_means.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using ::testing::DoubleNear;
using ::testing::SizeIs;

constexpr int64_t kSecond = kNanosPerSecond;

class IngestSeriesTest : public HistoryServiceTest {};

TEST(NodeMeansTest, SchemaWithoutCoresAndGpus_HasNoMeans) {
  EXPECT_EQ(NodeMeans::Of(SchemaOf(1, {{{"__name__", "train_loss"}, {"node", "a"}},
                                       {{"__name__", "hw_gpu_utilization_ratio"}, {"node", "a"}},
                                       {{"__name__", "hw_gpu_utilization_ratio"}, {"gpu", "0"}}})),
            nullptr);
}

// Compares the series of two nodes with the raw rows. Each node has three cores, two GPUs, and some
// missing values. The check runs in memory and after sealing.
TEST_F(IngestSeriesTest, NodeSeriesAreAggregatesOfCoresAndGpus) {
  Open();
  std::mt19937_64 random(4);
  std::map<std::string, std::map<int64_t, std::vector<double>>> busy, wait, gpus;
  for (const std::string node : {"a", "b"}) {
    std::vector<Labels> labels;
    for (int core = 0; core < 3; ++core) {
      for (const char* mode : {"user", "idle", "iowait"})
        labels.push_back({{"__name__", "system_cpu_utilization_ratio"},
                          {"node", node},
                          {"cpu", Cat(core)},
                          {"mode", mode}});
    }
    for (int gpu = 0; gpu < 2; ++gpu)
      labels.push_back(
          {{"__name__", "hw_gpu_utilization_ratio"}, {"node", node}, {"gpu", Cat(gpu)}});
    const Schema schema = SchemaOf(1, labels);
    OwnedBatch b(Cat("collector-", node), 1);
    b.batch.schemas.emplace_back(schema);
    std::vector<int64_t> times;
    std::vector<double> cells;
    for (int row = 0; row < 700; ++row) {
      const int64_t time = kBegin + row * kSecond;
      times.push_back(time);
      for (int core = 0; core < 3; ++core) {
        const double idle = static_cast<double>(random() % 50) / 100;
        const double io = random() % 9 == 0 ? MissingValue() : 0.25;
        cells.insert(cells.end(), {0.1, idle, io});
        if (IsMissing(io)) continue;  // without I/O wait, the core's utilization is unknown
        busy[node][time].push_back(1 - idle - io);
        wait[node][time].push_back(io);
      }
      for (int gpu = 0; gpu < 2; ++gpu) {
        const double ratio =
            row % 5 == 0 ? MissingValue() : static_cast<double>(random() % 101) / 100;
        cells.push_back(ratio);
        if (!IsMissing(ratio)) gpus[node][time].push_back(ratio);
      }
    }
    b.Rows(schema, times, cells);
    Send(b.batch);
  }
  Await();
  const auto check = [&](const std::string& metric, const auto& expected) {
    for (const char* what : {"min", "mean", "max"}) {
      SampleQuery query;
      query.job = "job-1";
      query.selectors = {NameIs(Cat(metric, "_", what, "_ratio"))};
      const auto columns = history().Samples(query);
      ASSERT_TRUE(columns.ok()) << columns.status();
      ASSERT_THAT(*columns, SizeIs(2)) << metric;
      for (const SampleColumn& column : *columns) {
        const auto& of_node = expected.at(std::string(column.labels.Get("node")));
        ASSERT_EQ(column.times.size(), of_node.size());
        for (size_t i = 0; i < column.times.size(); ++i) {
          const std::vector<double>& values = of_node.at(column.times[i]);
          double sum = 0;
          for (const double v : values) sum += v;
          const double wanted =
              what == std::string("min")   ? *std::min_element(values.begin(), values.end())
              : what == std::string("max") ? *std::max_element(values.begin(), values.end())
                                           : sum / static_cast<double>(values.size());
          ASSERT_THAT(column.values[i], DoubleNear(wanted, 1e-12)) << metric << " " << what;
        }
      }
    }
  };
  uint64_t raw = 0;
  for (const bool again : {false, true}) {
    if (again) {
      Close();
      Open();
    }
    SCOPED_TRACE(again ? "sealed" : "from memory");
    check("node_cpu_utilization", busy);
    check("node_cpu_iowait", wait);
    check("node_gpu_utilization", gpus);
    // Derived values do not count as received samples.
    const uint64_t samples = (*history().FindJob("job-1"))->samples;
    if (again) {
      EXPECT_EQ(samples, raw);
    }
    raw = samples;
    EXPECT_LE(raw, 2U * 700U * 11U);
  }
}

// The test uses 20,000 spans over 25 minutes, some of them long, empty, or without a step. Sealed
// windows return the same results as a plain list.
TEST_F(IngestSeriesTest, SpansAndTotalsMatchPlainList) {
  Open();
  std::mt19937_64 random(8);
  std::vector<std::pair<int64_t, Span>> all;  // (rank, span)
  uint64_t sequence = 0;
  for (int b = 0; b < 100; ++b) {
    OwnedBatch batch(Cat("rank-", b % 4), ++sequence, b % 4);
    for (int i = 0; i < 200; ++i) {
      Span span;
      span.kind = static_cast<Span::Kind>(random() % 3);
      span.name = span.kind == Span::Kind::kStep ? "" : Cat("op-", random() % 5);
      span.start = EventTime::FromNs(kBegin + b * 15 * kSecond +
                                     static_cast<int64_t>(random() % 15'000) * 1'000'000);
      const uint64_t luck = random() % 200;
      span.end = EventTime::FromNs(span.start.ns() +
                                   (luck == 0   ? 700 * kSecond
                                    : luck == 1 ? 0
                                                : static_cast<int64_t>(random() % 900'000'000)));
      span.step = random() % 10 == 0 ? kNoStep : b * 10 + i / 20;
      span.mode = random() % 7 == 0 ? "eval" : "train";
      all.emplace_back(b % 4, span);
      batch.batch.spans.push_back(span);
    }
    Send(batch.batch);
  }
  Await();
  Close();
  Open();
  using Row = std::tuple<int64_t, int64_t, Span::Kind, std::string, int64_t, int64_t, std::string>;
  for (int q = 0; q < 60; ++q) {
    SpanQuery query;
    query.job = "job-1";
    if (q % 4 != 0) {
      query.range.from_ns = kBegin + static_cast<int64_t>(random() % 1500) * kSecond;
      query.range.to_ns = query.range.from_ns +
                          static_cast<int64_t>(1 + random() % (q % 2 == 0 ? 20 : 1500)) * kSecond;
    }
    if (q % 3 == 0) query.ranks = {static_cast<int64_t>(random() % 4)};
    if (q % 5 == 0) query.kinds = {Span::Kind::kOperator};
    if (q % 7 == 0) query.mode = "train";
    if (q % 6 == 0) {
      query.from_step = static_cast<int64_t>(random() % 1000);
      query.to_step = query.from_step + 30;
    }
    std::vector<Row> expected;
    std::map<std::tuple<int64_t, Span::Kind, std::string>, std::pair<uint64_t, int64_t>> totals;
    for (const auto& [rank, s] : all) {
      const bool of_it = (query.ranks.empty() || query.ranks[0] == rank) &&
                         (query.kinds.empty() || query.kinds[0] == s.kind) &&
                         (query.mode.empty() || query.mode == s.mode) &&
                         (query.from_step == kNoStep || s.step >= query.from_step) &&
                         s.step < query.to_step && s.start.ns() < query.range.to_ns;
      if (!of_it) continue;
      if (s.end.ns() > query.range.from_ns ||
          (s.end == s.start && s.start.ns() >= query.range.from_ns))
        expected.emplace_back(s.start.ns(), rank, s.kind, s.name, s.end.ns(), s.step, s.mode);
      if (s.start.ns() < query.range.from_ns) continue;
      auto& [count, sum] = totals[{rank, s.kind, s.name}];
      ++count;
      sum += (s.end - s.start).ns();
    }
    std::sort(expected.begin(), expected.end());
    const auto spans = history().Spans(query);
    ASSERT_TRUE(spans.ok()) << spans.status();
    const auto rows_of = [](const std::vector<SpanRow>& from) {
      std::vector<Row> to;
      for (const SpanRow& row : from)
        to.emplace_back(row.span.start.ns(), row.rank, row.span.kind, row.span.name,
                        row.span.end.ns(), row.span.step, row.span.mode);
      return to;
    };
    std::vector<Row> rows = rows_of(*spans);
    // Pages at several offsets match the corresponding parts of the full result.
    for (const size_t first :
         {size_t{0}, size_t{7}, rows.size() / 2, rows.size() - rows.size() / 9, rows.size() + 3}) {
      const auto page = history().SpansPage(query, first, 10);
      ASSERT_TRUE(page.ok()) << page.status();
      EXPECT_EQ(page->total, rows.size());
      const size_t begin = std::min(first, rows.size());
      const size_t end = std::min(begin + 10, rows.size());
      EXPECT_EQ(
          rows_of(page->rows) == std::vector<Row>(rows.begin() + static_cast<ptrdiff_t>(begin),
                                                  rows.begin() + static_cast<ptrdiff_t>(end)),
          true)
          << "query " << q << ", page from " << first << " of " << rows.size();
    }
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows == expected, true)
        << "query " << q << ": " << rows.size() << " of " << expected.size();
    const auto operators = history().Operators(query);
    ASSERT_TRUE(operators.ok()) << operators.status();
    ASSERT_EQ(operators->size(), totals.size()) << "query " << q;
    for (const OperatorTotal& total : *operators) {
      const auto& [count, sum] = totals.at({total.rank, total.kind, total.name});
      EXPECT_EQ(total.count, count);
      EXPECT_EQ(total.total_ns, sum);
    }
  }
}

// Fixture for queries over a whole job with two metrics on two nodes.
class IngestWholeJobsTest : public HistoryServiceTest {
 protected:
  void SendRows(int from_s, int to_s, uint64_t sequence, std::string_view source = "source") {
    OwnedBatch b{std::string(source), sequence};
    b.batch.schemas.emplace_back(schema_);
    std::vector<int64_t> times;
    std::vector<double> cells;
    for (int s = from_s; s < to_s; s += 7) {
      times.push_back(kBegin + s * kSecond);
      cells.insert(cells.end(), {static_cast<double>(s * 37 % 101) / 100,
                                 s % 3 == 0 ? MissingValue() : s * 1.5, 1.0 * s});
    }
    b.Rows(schema_, times, cells);
    for (int s = from_s; s + 5 < to_s; s += 5) {
      b.batch.spans.push_back({s % 2 == 0 ? Span::Kind::kPhase : Span::Kind::kOperator,
                               s % 3 == 0 ? "forward" : "backward",
                               EventTime::FromNs(kBegin + s * kSecond),
                               EventTime::FromNs(kBegin + s * kSecond + s * 1000), s, "train"});
    }
    Send(b.batch);
  }
  // Returns two-minute and half-hour rollups, quantiles, series, and span totals as text.
  std::string Answers(const std::vector<Selector>& selectors, TimeRange range = {}) const {
    std::string out;
    SeriesQuery query;
    query.job = "job-1";
    query.selectors = selectors;
    query.range = range;
    for (const size_t tier : {1U, 2U}) {
      const auto columns = history().Rollups(query, tier);
      EXPECT_TRUE(columns.ok()) << columns.status();
      if (!columns.ok()) return "";
      for (const RollupColumn& column : *columns) {
        CatTo(out, column.labels.ToString(), "\n");
        for (const RollupRow& row : column.rows) {
          CatTo(out, row.start_ns, " ", row.count);
          for (const double v : {row.min, row.max, row.last, row.sum})
            CatTo(out, " ", FormatDouble(v));
          CatTo(out, "\n");
        }
      }
    }
    const std::vector<double> wanted = {0, 0.5, 0.99};
    const auto rows = history().Quantiles(query, wanted);
    EXPECT_TRUE(rows.ok()) << rows.status();
    if (!rows.ok()) return "";
    for (const QuantileRow& row : *rows) {
      CatTo(out, row.node, " ", row.metric, " ", row.count);
      for (const double v : {row.min, row.max, row.mean, row.quantiles[1], row.quantiles[2]})
        CatTo(out, " ", FormatDouble(v));
      CatTo(out, "\n");
    }
    const auto series = history().Series(query);
    EXPECT_TRUE(series.ok()) << series.status();
    if (!series.ok()) return "";
    for (const SeriesInfo& info : *series)
      CatTo(out, info.labels.ToString(), " ", info.first_ns, " ", info.last_ns, " ", info.has_steps,
            "\n");
    SpanQuery spans;
    spans.job = query.job;
    spans.range = range;
    const auto totals = history().Operators(spans);
    EXPECT_TRUE(totals.ok()) << totals.status();
    if (!totals.ok()) return "";
    EXPECT_FALSE(totals->empty());
    for (const OperatorTotal& total : *totals)
      CatTo(out, total.rank, " ", static_cast<int>(total.kind), " ", total.name, " ", total.count,
            " ", total.total_ns, " ", total.min_ns, " ", total.max_ns, "\n");
    return out;
  }
  // Damages the footers of all segments so that they cannot be opened.
  void DamageFooters() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
      if (entry.path().extension() == ".seg")
        std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) - 4);
    }
  }

  const Schema schema_ =
      SchemaOf(1, {{{"__name__", "hw_gpu_utilization_ratio"}, {"node", "a"}, {"gpu", "0"}},
                   {{"__name__", "hw_power_watts"}, {"node", "a"}, {"gpu", "0"}},
                   {{"__name__", "hw_power_watts"}, {"node", "b"}, {"gpu", "0"}}});
  const std::vector<Selector> none_ = {}, power_ = {NameIs("hw_power_watts")},
                              node_ = {{{*Matcher::Make("node", MatchOp::kEqual, "b")}}};
};

TEST_F(IngestWholeJobsTest, QueriesDoNotOpenSegments) {
  Open();
  SendRows(0, 1800, 1);
  Await();
  const std::string in_memory = Answers(none_);
  const std::string power = Answers(power_), node = Answers(node_);
  EXPECT_NE(power, in_memory);
  EXPECT_NE(node, power);
  Close();  // Close seals the windows
  Open();
  EXPECT_EQ(Answers(none_), in_memory);
  Close();
  for (const char* name : {"catalogue.db", "catalogue.db-wal", "catalogue.db-shm"})
    std::filesystem::remove(Cat(dir_, "/", name));
  Open();  // the store rebuilds the catalog from the segments
  EXPECT_EQ(Answers(none_), in_memory);
  Close();
  DamageFooters();
  Open();
  EXPECT_EQ(Answers(none_), in_memory);
  EXPECT_EQ(Answers(power_), power);
  EXPECT_EQ(Answers(node_), node);
  SampleQuery samples;
  samples.job = "job-1";
  EXPECT_TRUE(absl::IsDataLoss(history().Samples(samples).status()));
}

// A shutdown must not wait for a large backlog of windows to be sealed.
TEST_F(IngestWholeJobsTest, StopTimeout_NextStartRereadsLog) {
  const auto segments = [&] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_))
      count += entry.path().extension() == ".seg" ? 1 : 0;
    return count;
  };
  options_.grace_ns = options_.seal_after_ns = 3600 * kNanosPerSecond;  // seals only on shutdown
  options_.stop_ns = 0;
  Open();
  SendRows(0, 1800, 1);
  Await();
  const std::string in_memory = Answers(none_);
  Close();
  EXPECT_EQ(segments(), 0U);
  options_.stop_ns = 60 * kNanosPerSecond;
  Open();
  AwaitThat([&] { return keep_->counters().records > 0; });
  EXPECT_EQ(Answers(none_), in_memory);
  Close();
  EXPECT_GT(segments(), 0U);
}

// A canceled read returns the cancellation status, whether it reads memory, segments, or pages.
TEST_F(IngestWholeJobsTest, CanceledReads_ReturnNoResult) {
  Open();
  SendRows(0, 1800, 1);
  Await();
  for (const bool sealed : {false, true}) {
    if (sealed) {
      Close();
      Open();
    }
    for (const auto reason : {CancelToken::Reason::kPeerGone, CancelToken::Reason::kTimeout}) {
      CancelToken token;
      token.Cancel(reason);
      const CancelScope scope(&token);
      const std::vector<double> wanted = {0.5};
      SampleQuery samples;
      samples.job = "job-1";
      SpanQuery spans;
      spans.job = samples.job;
      EXPECT_EQ(history().Samples(samples).status(), token.status());
      EXPECT_EQ(history().Series(samples).status(), token.status());
      EXPECT_EQ(history().Rollups(samples, 1).status(), token.status());
      EXPECT_EQ(history().Rollups(samples, 2).status(), token.status());
      EXPECT_EQ(history().Quantiles(samples, wanted).status(), token.status());
      EXPECT_EQ(history().Spans(spans).status(), token.status());
      EXPECT_EQ(history().SpansPage(spans, 0, 1).status(), token.status());
      EXPECT_EQ(history().Operators(spans).status(), token.status());
    }
    EXPECT_FALSE(Answers(none_).empty());  // the canceled reads leave no state behind
  }
}

// The catalog does not contain the schemas of derived series, because they follow from the received
// schemas.
TEST_F(IngestWholeJobsTest, QueriesAfterRestartDoNotOpenSegments) {
  Open();
  SendRows(0, 1800, 1);
  Await();
  const std::string in_memory = Answers(none_);
  EXPECT_NE(in_memory.find("node_gpu_utilization_max_ratio"), std::string::npos);
  Close();
  DamageFooters();
  Open();
  EXPECT_EQ(Answers(none_), in_memory);
}

TEST_F(IngestWholeJobsTest, ResultIncludesUnsealedRowsAndPartialWindows) {
  Open();
  SendRows(0, 1200, 1);
  Await();
  Close();
  Open();
  SendRows(3, 1500, 1, "late");  // the late rows are at other times, in all windows
  records_ = 1;
  Await();
  const std::string both = Answers(none_);
  const TimeRange part = {kBegin + 130 * kSecond, kBegin + 1000 * kSecond};
  const std::string of_part = Answers(none_, part);
  EXPECT_NE(of_part, both);
  EXPECT_EQ(both.find("nan"), std::string::npos);
  Close();  // Close seals the windows again
  Open();
  EXPECT_EQ(Answers(none_), both);
  EXPECT_EQ(Answers(none_, part), of_part);
}

// A source's clock jumps back 30 s and then an hour ahead. For repeated times, the first value is
// kept. Rows too far ahead are dropped and counted. All other rows are stored.
TEST_F(IngestSeriesTest, ClockJumps_RowsFarAheadAreDropped) {
  Open();
  const Schema schema = SchemaOf(1, {{{"__name__", "x"}, {"node", "n"}}});
  uint64_t sequence = 0;
  const auto send = [&](int64_t from_ns, double value) {
    OwnedBatch b("source", ++sequence);
    b.batch.schemas.emplace_back(schema);
    std::vector<int64_t> times;
    for (int i = 0; i < 60; ++i) times.push_back(from_ns + i * kSecond);
    b.Rows(schema, times, std::vector<double>(60, value));
    Send(b.batch);
  };
  send(kBegin, 1);
  send(kBegin + 60 * kSecond, 2);
  send(kBegin + 90 * kSecond, 3);  // the clock moved back 30 s
  send(clock_.WallNs() + 3600 * kSecond, 4);
  send(kBegin + 150 * kSecond, 5);
  Await();
  EXPECT_EQ(keep_->counters().ahead, 60U);
  for (const bool again : {false, true}) {
    if (again) {
      Close();
      Open();
    }
    SampleQuery query;
    query.job = "job-1";
    const auto columns = history().Samples(query);
    ASSERT_TRUE(columns.ok()) << columns.status();
    ASSERT_THAT(*columns, SizeIs(1));
    const SampleColumn& column = (*columns)[0];
    ASSERT_THAT(column.times, SizeIs(210));
    for (size_t i = 0; i < 210; ++i) {
      EXPECT_EQ(column.times[i], kBegin + static_cast<int64_t>(i) * kSecond);
      EXPECT_EQ(column.values[i], i < 60 ? 1 : i < 120 ? 2 : i < 150 ? 3 : 5) << i;
    }
  }
}

}  // namespace
}  // namespace pitwall::history
