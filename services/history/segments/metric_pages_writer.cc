// Writer of metric pages.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "services/base/wrapping.h"
#include "services/history/segments/metric_pages.h"
#include "services/history/segments/segment_builder.h"
#include "services/history/segments/text_page.h"

namespace pitwall::history {
namespace {

// Target page size. The metrics of a small job's window fit into one page, while each metric of a
// large job has a separate page. A page costs about 50 bytes in the footer and one read.
constexpr size_t kPageBytes = size_t{48} << 10;

template <typename T>
std::vector<T> InOrder(const std::vector<T>& values, std::span<const uint32_t> order) {
  std::vector<T> out;
  out.reserve(order.size());
  for (const uint32_t i : order) out.push_back(values[i]);
  return out;
}

// Maximum number of series per entry. Ensures that no page exceeds the maximum size.
constexpr size_t kSeriesOfEntry = 16'384;
// Maximum number of totals per page, for the same reason.
constexpr size_t kTotalsOfPage = 65'536;

// Returns the series ordered by (schema, column), so that each schema's ID is stored once.
std::vector<uint32_t> OrderOf(const MetricRollups& of) {
  std::vector<uint32_t> series(of.row_counts.size());
  std::iota(series.begin(), series.end(), 0);
  std::sort(series.begin(), series.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(of.schemas[a], of.columns[a]) < std::pair(of.schemas[b], of.columns[b]);
  });
  return series;
}

// Writes the schemas as ascending numbers, because these compress to almost nothing.
void SaveColumns(const MetricRollups& of, std::span<const uint32_t> series,
                 const std::vector<uint64_t>& schemas, BinaryWriter& out) {
  std::vector<int64_t> numbers, columns;
  for (const uint32_t s : series) {
    const auto at = std::lower_bound(schemas.begin(), schemas.end(), of.schemas[s]);
    numbers.push_back(at - schemas.begin());
    columns.push_back(of.columns[s]);
  }
  out.I64s(numbers);
  out.I64s(columns);
}

std::string Encode(const MetricRollups& of, const std::vector<uint32_t>& first_rows,
                   std::span<const uint32_t> series, const std::vector<uint64_t>& schemas) {
  std::vector<uint32_t> rows;
  for (const uint32_t s : series) {
    for (uint32_t i = 0; i < of.row_counts[s]; ++i) rows.push_back(first_rows[s] + i);
  }
  BinaryWriter out;
  SaveColumns(of, series, schemas, out);
  out.U32s(InOrder(of.row_counts, series));
  out.I64s(InOrder(of.starts, rows));
  out.I64s(InOrder(of.counts, rows));
  // Most values within a row are equal, so they compress best if they are adjacent.
  std::vector<double> values;
  values.reserve(rows.size() * MetricRollups::kValues);
  for (const uint32_t row : rows) {
    const auto of_row = of.ValuesOf(row);
    values.insert(values.end(), of_row.begin(), of_row.end());
  }
  out.Doubles(values);
  return out.Take();
}

// Encoder for pages of one kind. A page is a sequence of metrics with their contents.
class PageMaker {
 public:
  struct Made {
    std::string first, last, text;
  };
  void Add(const std::string& metric, std::string content) {
    if (pages_.empty() || pages_.back().text.size() >= kPageBytes)
      pages_.push_back({metric, {}, {}});
    BinaryWriter out;
    out.Str(metric);
    out.Str(content);
    pages_.back().last = metric;
    pages_.back().text += out.Take();
  }
  std::vector<Made> Take() { return std::move(pages_); }

 private:
  std::vector<Made> pages_;
};

}  // namespace

void MetricRollups::Add(uint64_t schema, uint32_t column, const std::vector<RollupRow>& rows) {
  schemas.push_back(schema);
  columns.push_back(column);
  row_counts.push_back(static_cast<uint32_t>(rows.size()));
  for (const RollupRow& row : rows) {
    starts.push_back(row.start_ns / kTiers[kPagedTier]);
    counts.push_back(row.count);
    values.insert(values.end(), {row.min, row.max, row.last, row.sum});
  }
}

// Adds pages to the table and records their locations.
class MetricPagesWriter::Pages {
 public:
  explicit Pages(TextTable table) : table_(std::move(table)) {}
  BinaryWriter& directory() { return directory_; }
  Status Add(MetricPages::Kind kind, std::string_view first, std::string_view last,
             std::string text) {
    ASSIGN_OR_RETURN(const store::Page page, table_.Add(text));
    directory_.U8(kind);
    directory_.Str(first);
    directory_.Str(last);
    SavePage(page, directory_);
    return OkStatus();
  }
  Status Add(MetricPages::Kind kind, std::vector<PageMaker::Made> pages) {
    for (PageMaker::Made& page : pages)
      RETURN_IF_ERROR(Add(kind, page.first, page.last, std::move(page.text)));
    return OkStatus();
  }
  // Adds the directory page and returns its location.
  StatusOr<store::Page> AddDirectory() { return table_.Add(directory_.Take()); }

 private:
  TextTable table_;
  BinaryWriter directory_;
};

// Writes runs of columns by schema. Times are relative to the previous schema, or to the first run,
// so that repeated extents produce equal bytes.
Status MetricPagesWriter::WriteSeries(const std::vector<uint64_t>& schemas, Pages* pages) {
  BinaryWriter page;
  SeriesExtent base;
  std::vector<SeriesRun> runs;
  size_t at = 0, before = 0;
  const auto flush = [&]() -> Status {
    if (page.data().empty()) return OkStatus();
    base = {};
    before = 0;
    return pages->Add(MetricPages::kSeries, "", "", page.Take());
  };
  for (size_t number = 0; number < schemas.size(); ++number) {
    runs.clear();
    for (; at < series_.size() && series_[at].schema == schemas[number]; ++at) {
      const Series& one = series_[at];
      const bool follows = !runs.empty() && runs.back().extent == one.extent &&
                           runs.back().first_column + runs.back().columns == one.column;
      if (!follows) runs.push_back({one.column, 0, one.extent});
      ++runs.back().columns;
    }
    page.U64(number - before);
    before = number;
    page.U64(runs.size());
    uint32_t column = 0;
    for (const SeriesRun& run : runs) {
      page.U64(run.first_column - column);
      column = run.first_column + run.columns;
      page.U64(run.columns);
      page.I64(Minus(run.extent.first_ns, base.first_ns));
      page.I64(Minus(run.extent.last_ns, base.last_ns));
      page.Bool(run.extent.has_steps);
      if (&run == runs.data()) base = run.extent;
    }
    if (page.data().size() >= kPageBytes) RETURN_IF_ERROR(flush());
  }
  series_ = {};
  return flush();
}

Status MetricPagesWriter::Write(const Spreads& spreads,
                                const std::optional<std::vector<OperatorTotal>>& totals,
                                SegmentBuilder* w, SegmentMeta* facts) {
  ASSIGN_OR_RETURN(TextTable table, TextTable::Of(w->out, store::TableKind::kRollup, kMetricsTable,
                                                  facts->window_ns));
  Pages pages(std::move(table));
  std::sort(series_.begin(), series_.end(), [](const Series& a, const Series& b) {
    return std::pair(a.schema, a.column) < std::pair(b.schema, b.column);
  });
  std::vector<uint64_t> schemas;
  for (const Series& one : series_) {
    if (schemas.empty() || schemas.back() != one.schema) schemas.push_back(one.schema);
  }
  BinaryWriter& directory = pages.directory();
  directory.U8(MetricPages::kForm);
  directory.Bool(totals.has_value());
  directory.U64(schemas.size());
  for (const uint64_t schema : schemas) directory.U64(schema);
  {
    PageMaker rollups;
    while (!rollups_.empty()) {  // frees encoded data as early as possible
      const auto metric = rollups_.extract(rollups_.begin());
      const MetricRollups& of = metric.mapped();
      std::vector<uint32_t> first_rows(of.row_counts.size());
      std::exclusive_scan(of.row_counts.begin(), of.row_counts.end(), first_rows.begin(),
                          uint32_t{0});
      const std::vector<uint32_t> order = OrderOf(of);
      for (size_t from = 0; from < order.size(); from += kSeriesOfEntry) {
        const size_t count = std::min(kSeriesOfEntry, order.size() - from);
        rollups.Add(metric.key(),
                    Encode(of, first_rows, std::span(order).subspan(from, count), schemas));
      }
    }
    RETURN_IF_ERROR(pages.Add(MetricPages::kRollups, rollups.Take()));
  }
  std::map<std::string, std::vector<const Spreads::value_type*>> by_metric;
  for (const auto& one : spreads) by_metric[one.first.second].push_back(&one);
  PageMaker maker;
  for (const auto& [metric, nodes] : by_metric) {
    BinaryWriter content;
    content.U64(nodes.size());
    for (const auto* one : nodes) {
      content.Str(one->first.first);
      one->second.sketch.Save(content);
      content.Double(one->second.sum);
    }
    maker.Add(metric, content.Take());
  }
  RETURN_IF_ERROR(pages.Add(MetricPages::kSpreads, maker.Take()));
  RETURN_IF_ERROR(WriteSeries(schemas, &pages));
  for (size_t from = 0; totals.has_value() && from < totals->size(); from += kTotalsOfPage) {
    const size_t count = std::min(kTotalsOfPage, totals->size() - from);
    RETURN_IF_ERROR(pages.Add(MetricPages::kTotals, "", "",
                              EncodeTotals(std::span(*totals).subspan(from, count))));
  }
  ASSIGN_OR_RETURN(facts->metrics, pages.AddDirectory());
  return OkStatus();
}

}  // namespace pitwall::history
