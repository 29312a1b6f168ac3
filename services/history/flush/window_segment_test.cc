// Tests segments of versions 1 to 3, which were written before decisions 65, 73, and 83. They
// contain one rank and its node: 10 minutes of `loadgen` with one job of the `small` shape of
// insights_performance (seed 1). segment-1.tsv was generated directly from the batches of that
// load, without the store. It has one line per series and one per span name, each with the number
// of entries and an FNV-1a hash of all entries.
#include "services/history/segments/window_segment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "services/base/text/strings.h"
#include "services/history/flush/flush_input.h"
#include "services/history/flush/segment_writer.h"
#include "services/history/segments/metric_pages.h"
#include "services/history/windows/node_means.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using Segment = std::shared_ptr<const WindowSegment>;

// Complete contents of a segment.
struct WindowRows {
  std::vector<RowTable> tables;
  SpanList spans;
  std::vector<Heartbeat> beats;
};
Status ReadAll(const WindowSegment& segment, WindowRows* out) {
  SeriesSet all({}, SIZE_MAX);
  RETURN_IF_ERROR(segment.rows().ReadRows(&all, kAllTimes, &out->tables, false));
  RETURN_IF_ERROR(segment.ReadSpans({}, &out->spans, false));
  return segment.ReadHeartbeats(&out->beats);
}
constexpr char kOld[] = "services/history/flush/testdata/segment-1.seg";
constexpr char kSecond[] = "services/history/flush/testdata/segment-2.seg";
constexpr char kThird[] = "services/history/flush/testdata/segment-3.seg";
constexpr char kSent[] = "services/history/flush/testdata/segment-1.tsv";

using Total = std::tuple<int64_t, int, std::string, uint64_t, int64_t, int64_t, int64_t>;

std::vector<Total> Sorted(SpanTotals totals) {
  std::vector<Total> out;
  for (const OperatorTotal& t : totals.Take()) {
    out.emplace_back(t.rank, static_cast<int>(t.kind), t.name, t.count, t.total_ns, t.min_ns,
                     t.max_ns);
  }
  return out;
}

// Returns the totals from an old segment or from the pages of a window.
std::vector<Total> StoredTotals(const WindowSegment& segment) {
  SpanTotals totals;
  const auto totals_read =
      segment.ReadTotals([&](const Origin& origin, const OperatorTotal& total) {
        Merge(total, totals.At(origin.rank, total.kind, total.name));
      });
  EXPECT_TRUE(totals_read.ok() && *totals_read);
  return Sorted(std::move(totals));
}
std::vector<Total> PagedTotals(const std::string& path, const SegmentMeta& facts) {
  SpanTotals totals;
  const auto totals_read =
      MetricPages(path, facts, nullptr).AddTotals([](auto, auto, auto) { return true; }, &totals);
  EXPECT_TRUE(totals_read.ok() && *totals_read);
  return Sorted(std::move(totals));
}

std::vector<Total> TotalsOf(const SpanList& spans) {
  SpanTotals totals;
  for (size_t i = 0; i < spans.size(); ++i) {
    const SpanView s = spans[i];
    AddTo(totals.At(s.origin->rank, s.kind, s.name), s.end_ns - s.start_ns);
  }
  return Sorted(std::move(totals));
}

uint64_t SamplesOf(const std::vector<RowTable>& tables) {
  uint64_t out = 0;
  for (const RowTable& table : tables) {
    if (IsMade(*table.schema)) continue;
    for (const auto& column : table.values)
      out += static_cast<uint64_t>(
          std::count_if(column.begin(), column.end(), [](double v) { return !IsMissing(v); }));
  }
  return out;
}

auto KeyOf(const SpanView& s) {
  return std::tuple(s.origin->source, s.origin->boot, s.kind, std::string(s.name),
                    std::string(s.mode), s.start_ns, s.end_ns, s.step, s.sequence);
}
auto KeyOf(const HeartbeatRun& r) {
  return std::tuple(r.first_ns, r.last.origin->source, r.last.promise_ns, r.last.sequence,
                    r.last.idle_ns, r.last.goodbye);
}

void ExpectSameRows(const std::vector<RowTable>& a, const std::vector<RowTable>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t t = 0; t < a.size(); ++t) {
    EXPECT_EQ(a[t].schema->id, b[t].schema->id);
    EXPECT_EQ(a[t].times, b[t].times);
    EXPECT_EQ(a[t].sequences, b[t].sequences);
    EXPECT_EQ(a[t].steps, b[t].steps);
    ASSERT_EQ(a[t].values.size(), b[t].values.size());
    for (size_t c = 0; c < a[t].values.size(); ++c) {
      const bool same =
          std::equal(a[t].values[c].begin(), a[t].values[c].end(), b[t].values[c].begin(),
                     b[t].values[c].end(), [](double x, double y) {
                       return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
                     });
      EXPECT_TRUE(same) << a[t].schema->series[c].labels.ToString();
    }
  }
}

class Digest {
 public:
  void Add(int64_t entry) {
    const auto number = static_cast<uint64_t>(entry);
    for (int byte = 0; byte < 8; ++byte) {
      hash_ ^= number >> (8 * byte) & 255;
      hash_ *= 1'099'511'628'211U;
    }
  }
  std::string Of(size_t count) const {
    std::string hex(16, '0');
    for (int digit = 0; digit < 16; ++digit)
      hex[static_cast<size_t>(digit)] = "0123456789abcdef"[hash_ >> (60 - 4 * digit) & 15];
    return Cat(count, "\t", hex);
  }

 private:
  uint64_t hash_ = 14'695'981'039'346'656'037U;
};

// Returns lines in the format of segment-1.tsv. They cover the received data but no derived series.
std::vector<std::string> LinesOf(const WindowRows& window) {
  std::map<std::string, std::vector<std::array<int64_t, 4>>> samples;  // by source and series
  for (const RowTable& table : window.tables) {
    if (IsMade(*table.schema)) continue;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const Labels& labels = table.schema->series[table.columns[c]].labels;
      auto& entries = samples[Cat(table.origin->source, "\t", labels.ToString())];
      for (size_t row = 0; row < table.times.size(); ++row) {
        const double value = table.values[c][row];
        if (IsMissing(value)) continue;
        entries.push_back({table.times[row], table.sequences[row], table.steps[row],
                           std::bit_cast<int64_t>(value)});
      }
    }
  }
  std::map<std::string, std::vector<std::array<int64_t, 3>>> spans;
  for (size_t i = 0; i < window.spans.size(); ++i) {
    const SpanView s = window.spans[i];
    spans[Cat(s.origin->source, "\tspan ", static_cast<int>(s.kind), " ", s.name)].push_back(
        {s.start_ns, s.end_ns, s.step});
  }
  std::vector<std::string> lines;
  for (auto& [key, entries] : samples) {
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return std::tie(a[0], a[1]) < std::tie(b[0], b[1]);
    });
    Digest digest;
    for (const auto& [time_ns, sequence, step, bits] : entries) {
      for (const int64_t number : {time_ns, step, bits}) digest.Add(number);
    }
    if (!entries.empty()) lines.push_back(Cat(key, "\t", digest.Of(entries.size())));
  }
  for (auto& [key, entries] : spans) {
    std::sort(entries.begin(), entries.end());
    Digest digest;
    for (const auto& entry : entries) {
      for (const int64_t number : entry) digest.Add(number);
    }
    lines.push_back(Cat(key, "\t", digest.Of(entries.size())));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> SentLines() {
  std::vector<std::string> lines;
  std::ifstream file(kSent);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(WindowSegment, OlderVersionsContainAllSentSamplesAndSpans) {
  const std::vector<std::string> sent = SentLines();
  ASSERT_GT(sent.size(), 150u);
  for (const char* path : {kOld, kSecond, kThird}) {
    SCOPED_TRACE(path);
    const auto old = WindowSegment::Open(path, nullptr);
    ASSERT_TRUE(old.ok()) << old.status();
    WindowRows rows;
    ASSERT_TRUE(ReadAll(**old, &rows).ok());
    const std::vector<std::string> read = LinesOf(rows);
    ASSERT_EQ(read.size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(read[i], sent[i]);
  }
}

TEST(WindowSegment, Version4IsSmallerThanVersion1AndEquivalent) {
  const auto old = WindowSegment::Open(kOld, nullptr);
  ASSERT_TRUE(old.ok()) << old.status();
  ASSERT_TRUE((*old)->CheckAll().ok());
  WindowRows rows;
  ASSERT_TRUE(ReadAll(**old, &rows).ok());
  EXPECT_GT(rows.spans.size(), 1000u);
  EXPECT_GT(SamplesOf(rows.tables), 100'000u);
  EXPECT_EQ(SamplesOf(rows.tables), (*old)->facts().samples);
  EXPECT_EQ(TotalsOf(rows.spans), StoredTotals(**old));

  const std::string path = Cat(::testing::TempDir(), "/window-segment-4.seg");
  SegmentMeta facts = (*old)->facts();
  SegmentHints hints;
  const auto seen = (*old)->ReadSeen();
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->size(), 2U);
  const auto content = FlushInput::Of(nullptr, *old, &*seen);
  ASSERT_TRUE(content.ok()) << content.status();
  ASSERT_TRUE(WriteWindow(path, **content, &hints, &facts, nullptr).ok());
  EXPECT_EQ(facts.samples, (*old)->facts().samples);
  EXPECT_LT(facts.bytes * 100, std::filesystem::file_size(kOld) * 91);
  SegmentCache cache(64 << 20, 8);
  SchemaPool schemas;
  const auto made = WindowSegment::Open(path, &facts, {&cache, &schemas});
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE((*made)->CheckAll().ok());
  WindowRows again;
  ASSERT_TRUE(ReadAll(**made, &again).ok());
  EXPECT_EQ(cache.bytes(), 0u) << "resealing must not fill the cache";
  ExpectSameRows(rows.tables, again.tables);
  EXPECT_EQ(PagedTotals(path, facts), StoredTotals(**old));
  ASSERT_EQ(again.spans.size(), rows.spans.size());
  for (size_t i = 0; i < rows.spans.size(); ++i)
    ASSERT_EQ(KeyOf(again.spans[i]), KeyOf(rows.spans[i])) << i;

  // A single span group can be read separately.
  SpanBounds bounds;
  bounds.range = {facts.window_ns + 300 * kNanosPerSecond, facts.window_ns + 310 * kNanosPerSecond};
  SpanList part;
  ASSERT_TRUE((*made)->ReadSpans(bounds, &part).ok());
  size_t within = 0, found = 0;
  const auto overlaps = [&](const SpanView& s) {
    return s.start_ns < bounds.range.to_ns && s.end_ns >= bounds.range.from_ns;
  };
  for (size_t i = 0; i < rows.spans.size(); ++i) within += overlaps(rows.spans[i]) ? 1 : 0;
  for (size_t i = 0; i < part.size(); ++i) found += overlaps(part[i]) ? 1 : 0;
  EXPECT_GT(within, 0u);
  EXPECT_EQ(found, within);

  // Heartbeat runs are computed if the file does not contain any.
  std::vector<HeartbeatRun> of_old, of_made;
  ASSERT_TRUE((*old)->ReadHeartbeatRuns(&of_old).ok());
  ASSERT_TRUE((*made)->ReadHeartbeatRuns(&of_made).ok());
  ASSERT_EQ(of_old.size(), of_made.size());
  EXPECT_LT(of_old.size() * 10, rows.beats.size());
  for (size_t i = 0; i < of_old.size(); ++i) EXPECT_EQ(KeyOf(of_old[i]), KeyOf(of_made[i]));

  // The second read is served from the cache and returns the same rows.
  for (int i = 0; i < 2; ++i) {
    SeriesSet all({}, SIZE_MAX);
    std::vector<RowTable> read;
    ASSERT_TRUE((*made)->rows().ReadRows(&all, kAllTimes, &read).ok());
    EXPECT_GT(cache.bytes(), 1u << 20);
    ExpectSameRows(rows.tables, read);
  }
  std::filesystem::remove(path);
}

TEST(RunsOfHeartbeats, RunsEndAtSilenceOrGoodbye) {
  const auto origin = std::make_shared<const Origin>(Origin{"a", "1", "n", 0, SourceKind::kRank});
  const auto other = std::make_shared<const Origin>(Origin{"b", "1", "n", 1, SourceKind::kRank});
  const auto beat = [](const OriginPtr& of, int64_t at, bool goodbye = false) {
    return Heartbeat{of, at, at, 5, goodbye};
  };
  const std::vector<HeartbeatRun> runs =
      RunsOf({beat(origin, 1), beat(origin, 6), beat(origin, 12), beat(origin, 13, true),
              beat(origin, 14), beat(other, 15)});
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(KeyOf(runs[0]), KeyOf(HeartbeatRun{1, beat(origin, 6)}));
  EXPECT_EQ(KeyOf(runs[1]), KeyOf(HeartbeatRun{12, beat(origin, 13, true)}));
  EXPECT_EQ(KeyOf(runs[2]), KeyOf(HeartbeatRun{14, beat(origin, 14)}));
  EXPECT_EQ(KeyOf(runs[3]), KeyOf(HeartbeatRun{15, beat(other, 15)}));
}

}  // namespace
}  // namespace pitwall::history
