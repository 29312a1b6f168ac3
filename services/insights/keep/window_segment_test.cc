// A segment of version 1, as the history wrote it before decision 65: one rank and its node, 10
// minutes of `loadgen` with one job of the shape `small` of insights_performance.
#include "services/insights/keep/window_segment.h"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <map>
#include <tuple>

#include "services/base/strings.h"
#include "services/insights/keep/node_means.h"
#include "services/model/value.h"

namespace pitwall::insights {
namespace {

using Segment = std::shared_ptr<const WindowSegment>;
constexpr char kOld[] = "services/insights/keep/testdata/segment-1.seg";

using TotalKey = std::tuple<std::string, int, std::string>;  // source, kind, name
using Total = std::tuple<uint64_t, int64_t, int64_t, int64_t>;

std::map<TotalKey, Total> StoredTotals(const Segment& segment) {
  std::map<TotalKey, Total> out;
  const auto told = segment->ReadTotals([&](const Origin& origin, const OperatorTotal& t) {
    out[{origin.source, static_cast<int>(t.kind), t.name}] = {t.count, t.total_ns, t.min_ns,
                                                             t.max_ns};
  });
  EXPECT_TRUE(told.ok() && *told);
  return out;
}

std::map<TotalKey, Total> TotalsOf(const SpanList& spans) {
  std::map<TotalKey, OperatorTotal> totals;
  for (size_t i = 0; i < spans.size(); ++i) {
    const SpanView s = spans[i];
    AddTo(&totals[{s.origin->source, static_cast<int>(s.kind), std::string(s.name)}],
          s.end_ns - s.start_ns);
  }
  std::map<TotalKey, Total> out;
  for (const auto& [key, t] : totals) out[key] = {t.count, t.total_ns, t.min_ns, t.max_ns};
  return out;
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
auto KeyOf(const BeatRun& r) {
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
      const bool same = std::equal(a[t].values[c].begin(), a[t].values[c].end(),
                                   b[t].values[c].begin(), b[t].values[c].end(),
                                   [](double x, double y) {
                                     return std::bit_cast<uint64_t>(x) ==
                                            std::bit_cast<uint64_t>(y);
                                   });
      EXPECT_TRUE(same) << a[t].schema->series[c].labels.ToString();
    }
  }
}

TEST(WindowSegment, TheFirstVersionIsReadAndTheSecondSaysTheSameInFewerBytes) {
  const auto old = WindowSegment::Open(kOld, nullptr);
  ASSERT_TRUE(old.ok()) << old.status();
  ASSERT_TRUE((*old)->CheckAll().ok());
  WindowRows rows;
  ASSERT_TRUE((*old)->ReadAll(&rows).ok());
  EXPECT_GT(rows.spans.size(), 1000u);
  EXPECT_GT(SamplesOf(rows.tables), 100'000u);
  EXPECT_EQ(SamplesOf(rows.tables), (*old)->facts().samples);
  EXPECT_EQ(TotalsOf(rows.spans), StoredTotals(*old));

  const std::string path = Cat(::testing::TempDir(), "/window-segment-2.seg");
  SegmentFacts facts = (*old)->facts();
  SegmentHints hints;
  ASSERT_TRUE(WriteWindow(path, rows, &hints, &facts, nullptr).ok());
  EXPECT_EQ(facts.samples, (*old)->facts().samples);
  EXPECT_LT(facts.bytes * 100, std::filesystem::file_size(kOld) * 88);
  ColumnCache cache(64 << 20);
  const auto made = WindowSegment::Open(path, &facts, &cache);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE((*made)->CheckAll().ok());
  WindowRows again;
  ASSERT_TRUE((*made)->ReadAll(&again).ok());
  EXPECT_EQ(cache.bytes(), 0u) << "what is sealed again is not asked for";
  ExpectSameRows(rows.tables, again.tables);
  EXPECT_EQ(StoredTotals(*made), StoredTotals(*old));
  ASSERT_EQ(again.spans.size(), rows.spans.size());
  for (size_t i = 0; i < rows.spans.size(); ++i)
    ASSERT_EQ(KeyOf(again.spans[i]), KeyOf(rows.spans[i])) << i;

  // A group of spans is read alone.
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

  // Runs of beats are made where the file has none.
  std::vector<BeatRun> of_old, of_made;
  ASSERT_TRUE((*old)->ReadBeatRuns(&of_old).ok());
  ASSERT_TRUE((*made)->ReadBeatRuns(&of_made).ok());
  ASSERT_EQ(of_old.size(), of_made.size());
  EXPECT_LT(of_old.size() * 10, rows.beats.size());
  for (size_t i = 0; i < of_old.size(); ++i) EXPECT_EQ(KeyOf(of_old[i]), KeyOf(of_made[i]));

  // The second reading comes out of the cache, and is the same.
  for (int i = 0; i < 2; ++i) {
    SeriesSet all({}, SIZE_MAX);
    std::vector<RowTable> read;
    ASSERT_TRUE((*made)->ReadRows(&all, &read).ok());
    EXPECT_GT(cache.bytes(), 1u << 20);
    ExpectSameRows(rows.tables, read);
  }
  std::filesystem::remove(path);
}

TEST(RunsOfBeats, EndAtSilencesAndGoodbyes) {
  const auto origin = std::make_shared<const Origin>(Origin{"a", "1", "n", 0, SourceKind::kRank});
  const auto other = std::make_shared<const Origin>(Origin{"b", "1", "n", 1, SourceKind::kRank});
  const auto beat = [](const OriginPtr& of, int64_t at, bool goodbye = false) {
    return Beat{of, at, at, 5, goodbye};
  };
  const std::vector<BeatRun> runs =
      RunsOf({beat(origin, 1), beat(origin, 6), beat(origin, 12), beat(origin, 13, true),
              beat(origin, 14), beat(other, 15)});
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(KeyOf(runs[0]), KeyOf(BeatRun{1, beat(origin, 6)}));
  EXPECT_EQ(KeyOf(runs[1]), KeyOf(BeatRun{12, beat(origin, 13, true)}));
  EXPECT_EQ(KeyOf(runs[2]), KeyOf(BeatRun{14, beat(origin, 14)}));
  EXPECT_EQ(KeyOf(runs[3]), KeyOf(BeatRun{15, beat(other, 15)}));
}

}  // namespace
}  // namespace pitwall::insights
