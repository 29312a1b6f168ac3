// Compares metric pages against the rows of their window.
#include "services/history/segments/metric_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "services/adapters/files/file.h"
#include "services/base/text/strings.h"
#include "services/history/flush/flush_input.h"
#include "services/history/flush/segment_writer.h"
#include "services/history/segments/rollup_cursor.h"
#include "services/history/windows/testing/batches.h"

namespace pitwall::history {
namespace {

constexpr char kStored[] = "services/history/flush/testdata/segment.seg";

std::string BytesOf(const RollupRow& row) {
  BinaryWriter out;
  out.I64(row.start_ns);
  for (const double v : {row.min, row.max, row.sum, row.last}) out.Double(v);
  out.U64(row.count);
  return out.Take();
}
std::string BytesOf(const Spread& spread) {
  BinaryWriter out;
  spread.sketch.Save(out);
  out.Double(spread.sum);
  return out.Take();
}

class MetricPagesTest : public ::testing::Test {
 protected:
  MetricPagesTest()
      : dir_(Cat(::testing::TempDir(), "/metric-pages-",
                 ::testing::UnitTest::GetInstance()->current_test_info()->name())),
        path_(Cat(dir_, "/again.seg")) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~MetricPagesTest() override { std::filesystem::remove_all(dir_); }

  // Opens the stored segment and reseals its window.
  void SealAgain() {
    stored_ = *WindowSegment::Open(kStored, nullptr);
    const auto content = FlushInput::Of(nullptr, stored_, &seen_);
    ASSERT_TRUE(content.ok()) << content.status();
    SegmentHints hints;
    facts_ = stored_->facts();
    facts_.metrics = {};
    const Status written = WriteWindow(path_, **content, &hints, &facts_, nullptr);
    ASSERT_TRUE(written.ok()) << written;
    ASSERT_GT(facts_.metrics.bytes, 0U);
  }
  MetricPages Pages() const { return MetricPages(path_, facts_, nullptr); }
  Status VisitRollups(const std::vector<std::string_view>& names,
                      const std::function<void(const std::vector<uint64_t>& schemas,
                                               const PagedRollups& of)>& visit) const {
    RollupCursor cursor(Pages(), &names);
    for (PagedRollups of;;) {
      ASSIGN_OR_RETURN(const bool more, cursor.Next());
      if (!more) return OkStatus();
      RETURN_IF_ERROR(cursor.Read(&of));
      visit(cursor.schemas(), of);
    }
  }
  // Returns each series' rows as bytes, keyed by labels.
  std::map<std::string, std::string> Rows(const std::vector<std::string_view>& names) const {
    std::map<uint64_t, const Schema*> schemas;
    for (const SharedSchema& schema : stored_->schemas()) schemas[schema->id] = &*schema;
    std::map<std::string, std::string> out;
    const Status read =
        VisitRollups(names, [&](const std::vector<uint64_t>& ids, const PagedRollups& of) {
          const RollupRows rows(&of.rows, 0, of.rows.starts.size());
          size_t row = 0;
          for (size_t i = 0; i < of.columns.size(); ++i) {
            std::string& bytes =
                out[schemas.at(ids[of.schemas[i]])->series[of.columns[i]].labels.ToString()];
            for (uint32_t left = of.row_counts[i]; left > 0; --left) bytes += BytesOf(rows[row++]);
          }
        });
    EXPECT_TRUE(read.ok()) << read;
    return out;
  }

  // Summaries of the stored segment's rows.
  struct Summaries {
    std::map<std::string, std::string> rows;      // rollups as bytes, by labels
    std::map<std::string, SeriesExtent> extents;  // by labels
    Spreads spreads;
  };
  Summaries Computed() const {
    SeriesSet set({}, SIZE_MAX);
    std::vector<RowTable> tables;
    for (size_t i = 0; i < stored_->rows().Descriptions().size(); ++i)
      tables.push_back(*stored_->rows().ReadWhole(i));
    const std::vector<RowView> views(tables.begin(), tables.end());
    SeriesMerger merger(views, &set);
    EXPECT_TRUE(merger.Prepare().ok());
    Summaries out;
    SeriesRows rows;
    for (const uint32_t series : set.InOrder()) {
      const Labels& labels = set.all()[series].labels;
      merger.Read(series, &rows);
      if (rows.times.empty()) continue;
      SpreadOf(&out.spreads, labels)->Add(rows, INT64_MIN, INT64_MAX);
      out.extents[labels.ToString()] = {rows.times.front(), rows.times.back(), rows.has_steps};
      std::string& bytes = out.rows[labels.ToString()];
      const TierRows tiers = RollUp(rows);
      for (const RollupRow& row : tiers[kPagedTier]) bytes += BytesOf(row);
    }
    return out;
  }

  const std::map<OriginKey, SequenceRanges> seen_;
  const std::string dir_;
  std::string path_;
  std::shared_ptr<const WindowSegment> stored_;
  SegmentMeta facts_;
};

TEST_F(MetricPagesTest, PagesMatchRows) {
  SealAgain();
  const Summaries expected = Computed();
  EXPECT_GT(expected.rows.size(), 100U);
  EXPECT_EQ(Rows({}), expected.rows);
  const Spreads& spreads = expected.spreads;
  size_t read = 0;
  const Status status =
      Pages().ForEachSpread({}, [&](const Spreads::key_type& key, const Spread& spread) {
        ++read;
        ASSERT_TRUE(spreads.contains(key));
        EXPECT_EQ(BytesOf(spread), BytesOf(spreads.at(key))) << key.first << " " << key.second;
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(read, spreads.size());
  // The pages can also be found by opening the segment, for example if the catalog was lost.
  const auto again = *WindowSegment::Open(path_, nullptr);
  EXPECT_EQ(again->facts().metrics.offset, facts_.metrics.offset);
  EXPECT_EQ(again->facts().metrics.crc, facts_.metrics.crc);
}

TEST_F(MetricPagesTest, SeriesExtentsMatchRows) {
  SealAgain();
  const std::map<std::string, SeriesExtent> expected = Computed().extents;
  bool some_steps = false, some_without = false;
  for (const auto& [labels, extent] : expected)
    (extent.has_steps ? some_steps : some_without) = true;
  EXPECT_TRUE(some_steps && some_without);
  std::map<uint64_t, const Schema*> schemas;
  for (const SharedSchema& schema : stored_->schemas()) schemas[schema->id] = &*schema;
  std::map<std::string, SeriesExtent> extents;
  const Status read =
      Pages().ForEachSeries([&](uint64_t schema, std::span<const SeriesRun> runs) -> Status {
        for (const SeriesRun& run : runs) {
          for (uint32_t c = run.first_column; c < run.first_column + run.columns; ++c)
            extents[schemas.at(schema)->series[c].labels.ToString()] = run.extent;
        }
        return OkStatus();
      });
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_TRUE(extents == expected);
}

TEST_F(MetricPagesTest, OnlyRequestedMetricsAreReturned) {
  SealAgain();
  const std::map<std::string, std::string> all = Rows({});
  for (const std::string_view name :
       {"hw_gpu_utilization_ratio", "train_step_duration_seconds", "not_there", "a", "zzz"}) {
    std::map<std::string, std::string> expected;
    for (const auto& [labels, rows] : all) {
      if (StartsWith(labels, Cat(name, "{"))) expected[labels] = rows;
    }
    EXPECT_EQ(expected.empty(), name.size() < 10) << name;
    EXPECT_EQ(Rows({name}), expected) << name;
    const Status read = Pages().ForEachSpread(
        {name}, [&](const Spreads::key_type& key, const Spread&) { EXPECT_EQ(key.second, name); });
    EXPECT_TRUE(read.ok()) << read;
  }
}

TEST_F(MetricPagesTest, DamagedPageIsReported) {
  SealAgain();
  const auto reader = *store::SegmentReader::Open(path_);
  for (size_t number = 0; number < reader->entries().size(); ++number) {
    const store::TablePtr table = *reader->TableAt(number);
    if (table->key != kMetricsTable) continue;
    EXPECT_GE(table->groups.size(), 5U);  // rollups, spreads, series, totals, and directory
    for (const store::RowGroup& group : table->groups) {
      const auto file = *files::File::Open(path_, files::File::Mode::kWrite);
      const auto at = static_cast<int64_t>(group.pages[1].offset) + 9;
      char byte = 0;
      ASSERT_TRUE(file->ReadAt(at, &byte, 1).ok());
      const char other = static_cast<char>(byte ^ 4);
      ASSERT_TRUE(file->WriteAt(at, std::string_view(&other, 1)).ok());
      const Status rollups = VisitRollups({}, [](const auto&, const auto&) {});
      const Status spreads =
          Pages().ForEachSpread({}, [](const Spreads::key_type&, const Spread&) {});
      const Status series =
          Pages().ForEachSeries([](uint64_t, std::span<const SeriesRun>) { return OkStatus(); });
      SpanTotals totals;
      const auto added = Pages().AddTotals([](auto, auto, auto) { return true; }, &totals);
      const std::array statuses = {rollups, spreads, series, added.status()};
      EXPECT_TRUE(std::any_of(statuses.begin(), statuses.end(), absl::IsDataLoss));
      for (const Status& status : statuses)
        EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
      ASSERT_TRUE(file->WriteAt(at, std::string_view(&byte, 1)).ok());
    }
  }
  EXPECT_EQ(Rows({}).empty(), false);
  std::filesystem::remove(path_);
  EXPECT_TRUE(absl::IsDataLoss(VisitRollups({}, [](const auto&, const auto&) {})));
}

}  // namespace
}  // namespace pitwall::history
