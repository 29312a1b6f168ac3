// Tests for sealing windows whose tables and labels are in different orders. The reference
// computation keeps all tables in memory.
#include "services/history/flush/flush_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <random>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/history/flush/segment_writer.h"
#include "services/history/flush/window_series.h"
#include "services/history/segments/metric_pages.h"
#include "services/history/segments/rollup_cursor.h"
#include "services/history/windows/testing/batches.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using Segment = std::shared_ptr<const WindowSegment>;

constexpr int64_t kSecond = kNanosPerSecond;
const std::map<OriginKey, SequenceRanges> kNothingSeen;

OriginPtr OriginAt(int rank, std::string_view boot) {
  return std::make_shared<const Origin>(
      Origin{Cat("rank-", rank, "@n"), std::string(boot), "n", rank, SourceKind::kRank});
}

// In source order, "rank-10@" precedes "rank-1@", but in label order, rank "1" precedes "10". One
// metric has no rank label, so all sources share its series.
Schema SchemaOfRank(int rank, bool wide) {
  const std::string of = Cat(rank);
  std::vector<Labels> labels = {{{"__name__", "loss"}, {"rank", of}},
                                {{"__name__", "gpu_ratio"}, {"node", "n"}, {"rank", of}},
                                {{"__name__", "shared"}, {"part", Cat(rank % 2)}}};
  if (wide) labels.push_back({{"__name__", "more"}, {"rank", of}});
  return SchemaOf(1, std::move(labels));
}

// Rows, spans, and heartbeats from twelve ranks. Some ranks restart or change their schema.
class Sent {
 public:
  explicit Sent(uint64_t seed, int ranks = 12) : random_(seed) {
    for (int rank = 0; rank < ranks; ++rank) {
      sources_.push_back({OriginAt(rank, "a"), SchemaOfRank(rank, false)});
      if (rank % 3 == 0) sources_.push_back({OriginAt(rank, "b"), SchemaOfRank(rank, false)});
      if (rank % 4 == 0) sources_.push_back({sources_.back().origin, SchemaOfRank(rank, true)});
    }
    std::shuffle(sources_.begin(), sources_.end(), random_);
  }
  // Adds frames from all sources for the seconds [from, to). The first frame contains all modes.
  void Put(int from, int to, MemTable* head) {
    for (size_t s = 0; s < sources_.size(); ++s) {
      const auto& [origin, schema] = sources_[s];
      for (int second = from; second < to; second += 5) {
        std::vector<int64_t> times, steps;
        std::vector<double> cells;
        const int64_t offset = static_cast<int64_t>(random_() % 3) * kSecond / 2;
        for (int row = 0; row < 5; ++row) {
          times.push_back(kBegin + (second + row) * kSecond + offset);
          steps.push_back(second + row);
          for (size_t c = 0; c < schema->series.size(); ++c)
            cells.push_back(random_() % 9 == 0 ? MissingValue()
                                               : static_cast<double>(random_() % 100'000) / 997);
        }
        const char* const modes[] = {"train", "eval", "test"};
        Frame frame;
        frame.times = times;
        frame.steps = steps;
        frame.values = cells;
        frame.mode = modes[static_cast<size_t>(second / 5) % 3];
        const uint64_t sequence = ++sequence_;
        head->AddRows(origin, schema, frame, 0, times.size(), sequence);
        Span span;
        span.kind = static_cast<Span::Kind>(random_() % 3);
        const std::string name = Cat("name-", random_() % 4);
        span.name = name;
        span.mode = frame.mode;
        span.start = EventTime::FromNs(times[random_() % times.size()]);
        span.end = EventTime::FromNs(times.back());
        span.step = second;
        head->AddSpan(origin, span, sequence);
        head->AddHeartbeat(
            {origin, times.back(), static_cast<int64_t>(sequence), 5 * kSecond, false});
      }
    }
  }

 private:
  struct Source {
    OriginPtr origin;
    SharedSchema schema;
  };
  std::mt19937_64 random_;
  std::vector<Source> sources_;
  uint64_t sequence_ = 0;
};

class FlushInputTest : public ::testing::Test {
 protected:
  FlushInputTest()
      : dir_(Cat(::testing::TempDir(), "/window-content-",
                 ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~FlushInputTest() override { std::filesystem::remove_all(dir_); }

  Segment Seal(const std::string& name, const MemTable* head, const Segment& sealed,
               bool has_rows = true) {
    const auto content = FlushInput::Of(head, sealed, &kNothingSeen);
    EXPECT_TRUE(content.ok()) << content.status();
    SegmentHints hints;
    SegmentMeta facts;
    facts.job = "job-1";
    facts.window_ns = kBegin;
    facts.has_rows = has_rows;
    const std::string path = Cat(dir_, "/", name);
    const Status written = WriteWindow(path, **content, &hints, &facts, nullptr);
    EXPECT_TRUE(written.ok()) << written;
    const auto segment = WindowSegment::Open(path, &facts);
    EXPECT_TRUE(segment.ok()) << segment.status();
    return *segment;
  }
  // Returns the checksums of all pages by table. Heartbeat runs are excluded, because sealing may
  // split a run.
  std::vector<std::string> PagesOf(const std::string& name) const {
    std::vector<std::string> out;
    const auto reader = store::SegmentReader::Open(Cat(dir_, "/", name));
    EXPECT_TRUE(reader.ok()) << reader.status();
    for (size_t number = 0; number < (*reader)->entries().size(); ++number) {
      const store::TablePtr table = *(*reader)->TableAt(number);
      if (table->key == "beat-runs") continue;
      std::string& line = out.emplace_back(table->key);
      for (const store::RowGroup& group : table->groups) {
        for (const store::Page& page : group.pages) line += Cat(" ", page.bytes, ":", page.crc);
      }
    }
    return out;
  }
  const std::string dir_;
};

std::string BytesOf(const Spread& spread) {
  BinaryWriter out;
  spread.sketch.Save(out);
  out.Double(spread.sum);
  return out.Take();
}

std::string BytesOf(const std::vector<RollupRow>& rows) {
  BinaryWriter out;
  SaveRows(rows, out);
  return out.Take();
}

// Contents of the metric pages, read without opening the segment.
struct PagedSummaries {
  std::map<uint32_t, std::vector<RollupRow>> rows;  // by series number in the set
  std::map<uint32_t, SeriesExtent> extents;         // by series number in the set
  Spreads spreads;
};
PagedSummaries ReadPages(const Segment& segment, SeriesSet* set) {
  PagedSummaries out;
  std::map<uint64_t, const WantedColumns*> columns;
  for (const SharedSchema& schema : segment->schemas()) columns[schema->id] = *set->Of(*schema);
  const MetricPages pages(segment->path(), segment->facts(), nullptr);
  const std::vector<std::string_view> all;
  RollupCursor cursor(pages, &all);
  for (PagedRollups of; *cursor.Next();) {
    EXPECT_TRUE(cursor.Read(&of).ok());
    const RollupRows all_rows(&of.rows, 0, of.rows.starts.size());
    size_t row = 0;
    for (size_t i = 0; i < of.columns.size(); ++i) {
      const uint64_t schema = cursor.schemas()[of.schemas[i]];
      std::vector<RollupRow>& rows = out.rows[columns.at(schema)->series[of.columns[i]]];
      EXPECT_TRUE(rows.empty());
      for (uint32_t left = of.row_counts[i]; left > 0; --left) rows.push_back(all_rows[row++]);
    }
  }
  const Status spreads = pages.ForEachSpread(
      {}, [&](const Spreads::key_type& key, const Spread& spread) { out.spreads[key] = spread; });
  EXPECT_TRUE(spreads.ok()) << spreads;
  const Status extents =
      pages.ForEachSeries([&](uint64_t schema, std::span<const SeriesRun> runs) -> Status {
        for (const SeriesRun& run : runs) {
          for (uint32_t c = run.first_column; c < run.first_column + run.columns; ++c)
            EXPECT_TRUE(out.extents.emplace(columns.at(schema)->series[c], run.extent).second);
        }
        return OkStatus();
      });
  EXPECT_TRUE(extents.ok()) << extents;
  return out;
}

// Checks the segment's summaries against the given tables, with series in label order.
void ExpectSummariesOf(const std::vector<RowTable>& tables, const Segment& segment) {
  SeriesSet set({}, SIZE_MAX);
  const std::vector<RowView> views(tables.begin(), tables.end());
  SeriesMerger merger(views, &set);
  ASSERT_TRUE(merger.Prepare().ok());
  const PagedSummaries paged = ReadPages(segment, &set);
  // The segment contains the finest rollups only if the window has no rows.
  std::vector<StoredSeries> stored;
  ASSERT_TRUE(segment->ReadSeries(&set, &stored).ok());
  std::map<uint32_t, const StoredSeries*> by_series;
  for (const StoredSeries& one : stored) by_series[one.series] = &one;
  EXPECT_EQ(by_series.size(), stored.size());
  EXPECT_EQ(by_series.size(), segment->facts().has_rows ? 0 : paged.rows.size());
  Spreads expected;
  for (const uint32_t series : set.InOrder()) {
    SeriesRows rows;
    merger.Read(series, &rows);
    SpreadOf(&expected, set.all()[series].labels)->Add(rows, INT64_MIN, INT64_MAX);
    const TierRows tiers = RollUp(rows);
    SCOPED_TRACE(set.all()[series].labels.ToString());
    const SeriesExtent extent = {rows.times.front(), rows.times.back(), rows.has_steps};
    ASSERT_TRUE(paged.rows.contains(series));
    EXPECT_EQ(BytesOf(paged.rows.at(series)), BytesOf(tiers[1]));
    EXPECT_TRUE(paged.extents.at(series) == extent);
    if (segment->facts().has_rows) continue;
    ASSERT_TRUE(by_series.contains(series));
    EXPECT_EQ(BytesOf(by_series[series]->finest), BytesOf(tiers[0]));
  }
  EXPECT_EQ(paged.rows.size(), set.all().size());
  EXPECT_EQ(paged.extents.size(), paged.rows.size());
  ASSERT_EQ(paged.spreads.size(), expected.size());
  for (const auto& [key, spread] : expected)
    EXPECT_EQ(BytesOf(paged.spreads.at(key)), BytesOf(spread)) << key.first << " " << key.second;
}

std::vector<RowTable> TablesOf(const Segment& segment) {
  std::vector<RowTable> tables;
  for (size_t i = 0; i < segment->rows().Descriptions().size(); ++i)
    tables.push_back(*segment->rows().ReadWhole(i));
  return tables;
}

TEST_F(FlushInputTest, SummariesMatchReferenceForAllTables) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Sent sent(seed);
    MemTable head;
    sent.Put(0, 500, &head);
    const Segment segment = Seal("whole", &head, nullptr);
    const std::vector<RowTable> tables = TablesOf(segment);
    EXPECT_EQ(tables.size(), head.tables());
    ExpectSummariesOf(tables, segment);
    ExpectSummariesOf(tables, Seal("without", &head, nullptr, false));
    ExpectSummariesOf(tables, Seal("dropped", nullptr, segment, false));
  }
}

TEST_F(FlushInputTest, ResealedWindowEqualsWindowSealedOnce) {
  Sent sent(7), again(7);
  MemTable first, second, whole;
  sent.Put(0, 200, &first);
  again.Put(0, 200, &whole);
  sent.Put(200, 500, &second);
  again.Put(200, 500, &whole);
  const Segment part = Seal("part", &first, nullptr);
  Seal("twice", &second, part);
  Seal("once", &whole, nullptr);
  Seal("copy", nullptr, Seal("again", &second, part));
  EXPECT_EQ(PagesOf("twice"), PagesOf("once"));
  EXPECT_EQ(PagesOf("copy"), PagesOf("once"));
  EXPECT_NE(PagesOf("part"), PagesOf("once"));
}

TEST_F(FlushInputTest, MergedSpansAreSortedWithinTimeSlices) {
  Sent sent(9);
  MemTable first, second;
  sent.Put(0, 250, &first);
  sent.Put(0, 250, &second);
  const Segment part = Seal("part", &first, nullptr);
  const Segment segment = Seal("whole", &second, part);
  SpanList before, all;
  ASSERT_TRUE(part->ReadSpans({}, &before).ok());
  ASSERT_TRUE(segment->ReadSpans({}, &all).ok());
  const auto key = [](const SpanView& s) {
    return std::tuple(s.start_ns / (10 * kSecond), s.origin->source, s.origin->boot, s.kind,
                      s.start_ns, s.sequence, s.end_ns, s.step, std::string(s.name),
                      std::string(s.mode));
  };
  std::vector<decltype(key(all[0]))> expected, read;
  const std::vector<const SpanList*> lists = {&before, &second.spans()};
  for (const SpanList* list : lists) {
    for (size_t i = 0; i < list->size(); ++i) expected.push_back(key((*list)[i]));
  }
  std::sort(expected.begin(), expected.end());  // all sequences are different
  for (size_t i = 0; i < all.size(); ++i) read.push_back(key(all[i]));
  EXPECT_EQ(read, expected);
}

std::string SpansOf(const MetricPages& pages) {
  SpanTotals totals;
  const auto content = pages.AddTotals([](auto, auto, auto) { return true; }, &totals);
  if (!content.ok()) return Cat(ToStd(content.status().message()));
  std::string out = Cat(*content);
  for (const OperatorTotal& t : totals.Take())
    CatTo(out, " ", t.rank, t.name, t.count, " ", t.total_ns, " ", t.min_ns, " ", t.max_ns);
  return out;
}

TEST_F(FlushInputTest, FlippedBitIsDetected) {
  Sent sent(3, 2);
  MemTable head;
  sent.Put(0, 15, &head);
  const Segment segment = Seal("whole", &head, nullptr);
  const std::string path = segment->path();
  const SegmentMeta facts = segment->facts();
  const std::string whole = files::ReadWhole(path, 1 << 24).value();
  const std::string totals = SpansOf(MetricPages(path, facts, nullptr));
  const auto file = *files::File::Open(path, files::File::Mode::kWrite);
  const auto put = [&](size_t at, char byte) {
    ASSERT_TRUE(file->WriteAt(static_cast<int64_t>(at), std::string(1, byte)).ok());
  };
  size_t of_pages = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    if (at > 0) put(at - 1, whole[at - 1]);
    put(at, static_cast<char>(whole[at] ^ 1 << at % 8));
    const auto read = WindowSegment::Open(path, &facts);
    const Status status = read.ok() ? (*read)->CheckAll() : read.status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << at << " of " << whole.size() << ": " << status;
    EXPECT_NE(status.message().find(path), std::string::npos) << status;
    // Reading metric pages without the segment returns correct content or reports the damage.
    const std::string content = SpansOf(MetricPages(path, facts, nullptr));
    if (content == totals) continue;
    ++of_pages;
    EXPECT_NE(content.find(path), std::string::npos) << content;
  }
  EXPECT_GT(of_pages, 50u);
}

TEST_F(FlushInputTest, SchemaMissingFromPoolIsReadFromSegment) {
  Sent sent(4, 3);
  MemTable head;
  sent.Put(0, 20, &head);
  const Segment segment = Seal("whole", &head, nullptr);
  const SegmentMeta facts = segment->facts();
  SchemaPool full, empty, other;
  for (const SharedSchema& schema : segment->schemas()) {
    full.Add(facts.job, schema);
    Schema changed = *schema;  // different content with the same ID
    changed.series[0].kind = SeriesKind::kCounter;
    other.Add(facts.job, changed);
  }
  for (SchemaPool* const pool : {&empty, &full, &other}) {
    const auto opened = WindowSegment::Open(segment->path(), &facts, {nullptr, pool});
    ASSERT_TRUE(opened.ok()) << opened.status();
    ASSERT_EQ((*opened)->schemas().size(), segment->schemas().size());
    for (size_t i = 0; i < segment->schemas().size(); ++i) {
      EXPECT_EQ((*opened)->schemas()[i]->id, segment->schemas()[i]->id);
      EXPECT_TRUE((*opened)->schemas()[i]->series == segment->schemas()[i]->series);
      const auto pooled = pool->Find(facts.job, segment->schemas()[i]->id);
      ASSERT_TRUE(pooled.has_value());
      EXPECT_EQ(&**pooled == &*(*opened)->schemas()[i], pool != &other);
    }
  }
  // If the schemas are in the pool, the schema pages are not read.
  const auto reader = *store::SegmentReader::Open(segment->path());
  size_t pages = 0;
  for (size_t number = 0; number < reader->entries().size(); ++number) {
    const store::TablePtr table = *reader->TableAt(number);
    if (table->key != kSchemasTable) continue;
    for (const store::RowGroup& group : table->groups) {
      ++pages;
      const auto file = *files::File::Open(segment->path(), files::File::Mode::kWrite);
      ASSERT_TRUE(file->WriteAt(static_cast<int64_t>(group.pages[1].offset) + 8, "xyz").ok());
    }
  }
  EXPECT_EQ(pages, 1u);
  EXPECT_TRUE(WindowSegment::Open(segment->path(), &facts, {nullptr, &full}).ok());
  SchemaPool none;
  EXPECT_TRUE(
      absl::IsDataLoss(WindowSegment::Open(segment->path(), &facts, {nullptr, &none}).status()));
}

// The two tables introduce modes in a different order than the window received them.
TEST_F(FlushInputTest, RowsKeepTheirModes) {
  const OriginPtr a = OriginAt(0, "a"), b = OriginAt(1, "a");
  const SharedSchema schema(SchemaOfRank(0, false));
  const auto put = [&](const OriginPtr& origin, int second, std::string_view mode, MemTable* head) {
    const std::vector<int64_t> times = {kBegin + second * kSecond}, steps = {second};
    const std::vector<double> cells(3, second);
    Frame frame;
    frame.times = times;
    frame.steps = steps;
    frame.values = cells;
    frame.mode = mode;
    head->AddRows(origin, schema, frame, 0, 1, static_cast<uint64_t>(second) + 1);
  };
  MemTable first, second;
  put(a, 0, "train", &first);
  put(b, 1, "eval", &second);
  put(a, 2, "test", &second);
  put(b, 3, "train", &second);
  put(b, 4, "", &second);
  put(a, 5, "eval", &second);
  const Segment segment = Seal("whole", &second, Seal("part", &first, nullptr));
  std::vector<std::vector<std::string>> modes;
  for (const RowTable& table : TablesOf(segment)) {
    auto& of = modes.emplace_back();
    for (const int64_t mode : table.modes) of.push_back(segment->modes().name(mode));
  }
  EXPECT_THAT(modes,
              ElementsAre(ElementsAre("train", "test", "eval"), ElementsAre("eval", "train", "")));
  // Modes are numbered by table and then by row, even though b's mode arrived first.
  EXPECT_THAT(segment->modes().all(), ElementsAre("", "train", "eval", "test"));
}

TEST_F(FlushInputTest, PendingValuesOverLimitMoveToFile) {
  const auto faults = std::make_shared<files::DiskFaults>();
  for (const bool full : {false, true}) {
    SCOPED_TRACE(full);
    faults->SetSpace(full ? 0 : -1);
    WaitingValues waiting(Cat(dir_, "/waiting.tmp"), faults, 100);
    const std::vector<double> ten(10, 1.5), eleven(11, -2.5);
    waiting.Put(7, ten);
    waiting.Put(8, eleven);
    waiting.Put(9, {});
    EXPECT_EQ(waiting.bytes(), full ? 168u : 80u);
    EXPECT_TRUE(std::filesystem::is_empty(dir_)) << "the file has no name";
    EXPECT_TRUE(waiting.Has(8));
    EXPECT_EQ(*waiting.Take(8), eleven);
    EXPECT_FALSE(waiting.Has(8));
    EXPECT_EQ(*waiting.Take(9), std::vector<double>());
    EXPECT_EQ(*waiting.Take(7), ten);
    EXPECT_EQ(waiting.bytes(), 0u);
  }
}

}  // namespace
}  // namespace pitwall::history
