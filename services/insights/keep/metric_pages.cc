#include "services/insights/keep/metric_pages.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "services/insights/keep/text_page.h"
#include "services/insights/keep/window_writing.h"

namespace pitwall::insights {
namespace {

// A window of a small job is in one page, and a metric of a great one in its own: a page costs some
// fifty bytes of the footer and a read.
constexpr size_t kPageBytes = size_t{48} << 10;
constexpr std::string_view kWhat = "a page of metrics";

template <typename T>
std::vector<T> InOrder(const std::vector<T>& values, std::span<const uint32_t> order) {
  std::vector<T> out;
  out.reserve(order.size());
  for (const uint32_t i : order) out.push_back(values[i]);
  return out;
}

// Series of one told entry, so that no page is greater than a page may be.
constexpr size_t kSeriesOfEntry = 16'384;

// Numbers of series by (schema, column), so that those of a schema are told with its id once.
std::vector<uint32_t> OrderOf(const MetricRollups& of) {
  std::vector<uint32_t> series(of.row_counts.size());
  std::iota(series.begin(), series.end(), 0);
  std::sort(series.begin(), series.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(of.schemas[a], of.columns[a]) < std::pair(of.schemas[b], of.columns[b]);
  });
  return series;
}

std::string Encode(const MetricRollups& of, const std::vector<uint32_t>& first_rows,
                   std::span<const uint32_t> series) {
  std::vector<uint32_t> rows;
  std::vector<std::pair<uint64_t, std::vector<uint32_t>>> schemas;
  for (const uint32_t s : series) {
    for (uint32_t i = 0; i < of.row_counts[s]; ++i) rows.push_back(first_rows[s] + i);
    if (schemas.empty() || schemas.back().first != of.schemas[s])
      schemas.push_back({of.schemas[s], {}});
    schemas.back().second.push_back(of.columns[s]);
  }
  BinaryWriter out;
  out.U64(schemas.size());
  for (const auto& [schema, columns] : schemas) {
    out.U64(schema);
    out.U32s(columns);
  }
  out.U32s(InOrder(of.row_counts, series));
  out.I64s(InOrder(of.starts, rows));
  out.I64s(InOrder(of.counts, rows));
  // Of most rows numbers repeat: near each other they pack best.
  std::vector<double> values;
  values.reserve(rows.size() * MetricRollups::kValues);
  for (const uint32_t row : rows) {
    const auto of_row = of.ValuesOf(row);
    values.insert(values.end(), of_row.begin(), of_row.end());
  }
  out.Doubles(values);
  return out.Take();
}

// False: malformed.
bool Decode(std::string_view told, MetricRollups* out) {
  BinaryReader in(told);
  for (size_t left = in.Count(2); left > 0 && in.ok(); --left) {
    const uint64_t schema = in.U64();
    const std::vector<uint32_t> columns = in.U32s();
    out->columns.insert(out->columns.end(), columns.begin(), columns.end());
    out->schemas.resize(out->columns.size(), schema);
  }
  out->row_counts = in.U32s();
  out->starts = in.I64s();
  out->counts = in.I64s();
  const size_t rows = out->starts.size();
  out->values = in.Doubles();
  return in.ok() && in.AtEnd() && out->row_counts.size() == out->columns.size() &&
         out->counts.size() == rows && out->values.size() == rows * MetricRollups::kValues &&
         std::accumulate(out->row_counts.begin(), out->row_counts.end(), size_t{0}) == rows;
}

// The pages of a kind: metrics one after another, each with what is told of it.
class PageMaker {
 public:
  struct Made {
    std::string first, last, text;
  };
  void Add(const std::string& metric, std::string told) {
    if (pages_.empty() || pages_.back().text.size() >= kPageBytes)
      pages_.push_back({metric, {}, {}});
    BinaryWriter out;
    out.Str(metric);
    out.Str(told);
    pages_.back().last = metric;
    pages_.back().text += out.Take();
  }
  std::vector<Made> Take() { return std::move(pages_); }

 private:
  std::vector<Made> pages_;
};

bool Wanted(const std::vector<std::string_view>& names, std::string_view metric) {
  return names.empty() || std::find(names.begin(), names.end(), metric) != names.end();
}

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

Status MetricPagesWriter::Write(const Spreads& spreads, WindowWriting* w, SegmentFacts* facts) {
  using enum store::ColumnType;
  ASSIGN_OR_RETURN(const size_t table,
                   w->out->AddTable(store::TableKind::kRollup, kMetricsTable, {kInt, kText}));
  const auto add = [&](std::string page) -> Status {
    const std::vector<int64_t> time = {facts->window_ns};
    const std::vector<std::string> text = {std::move(page)};
    const std::vector<store::ColumnRows> columns = {Part(time, 0, 1), Part(text, 0, 1)};
    return w->out->AddRows(table, columns, nullptr);
  };
  BinaryWriter directory;
  const auto add_pages = [&](MetricPages::Kind kind, std::vector<PageMaker::Made> pages) -> Status {
    for (PageMaker::Made& page : pages) {
      RETURN_IF_ERROR(add(std::move(page.text)));
      directory.U8(kind);
      directory.Str(page.first);
      directory.Str(page.last);
      SavePage(w->out->table(table).groups.back().pages[1], directory);
    }
    return OkStatus();
  };
  {
    PageMaker maker;
    while (!rollups_.empty()) {  // what is encoded is done with
      auto metric = rollups_.extract(rollups_.begin());
      const MetricRollups& of = metric.mapped();
      std::vector<uint32_t> first_rows(of.row_counts.size());
      std::exclusive_scan(of.row_counts.begin(), of.row_counts.end(), first_rows.begin(),
                          uint32_t{0});
      const std::vector<uint32_t> order = OrderOf(of);
      for (size_t from = 0; from < order.size(); from += kSeriesOfEntry) {
        const size_t count = std::min(kSeriesOfEntry, order.size() - from);
        maker.Add(metric.key(), Encode(of, first_rows, std::span(order).subspan(from, count)));
      }
    }
    RETURN_IF_ERROR(add_pages(MetricPages::kRollups, maker.Take()));
  }
  std::map<std::string, std::vector<const Spreads::value_type*>> by_metric;
  for (const auto& one : spreads) by_metric[one.first.second].push_back(&one);
  PageMaker maker;
  for (const auto& [metric, nodes] : by_metric) {
    BinaryWriter told;
    told.U64(nodes.size());
    for (const auto* one : nodes) {
      told.Str(one->first.first);
      one->second.sketch.Save(told);
      told.Double(one->second.sum);
    }
    maker.Add(metric, told.Take());
  }
  RETURN_IF_ERROR(add_pages(MetricPages::kSpreads, maker.Take()));
  RETURN_IF_ERROR(add(directory.Take()));
  facts->metrics = w->out->table(table).groups.back().pages[1];
  return OkStatus();
}

StatusOr<std::shared_ptr<const MetricPages::Directory>> MetricPages::ReadDirectory() const {
  const SegmentCache::Key key = SegmentCache::MetricsKey(facts_.generation, 0);
  if (cache_ != nullptr) {
    if (auto found = cache_->Find<Directory>(key); found != nullptr) return found;
  }
  ASSIGN_OR_RETURN(const std::string text, ReadText(path_, facts_.metrics, kWhat));
  auto directory = std::make_shared<Directory>();
  BinaryReader in(text);
  while (in.ok() && !in.AtEnd()) {
    Place& place = directory->emplace_back();
    place.kind = static_cast<Kind>(in.U8());
    place.first = in.Str();
    place.last = in.Str();
    place.page = RestorePage(in);
  }
  if (!in.ok()) return MalformedPage(path_, facts_.metrics, kWhat);
  if (cache_ != nullptr)
    cache_->Put(key, directory, text.size() + directory->size() * sizeof(Place));
  return std::shared_ptr<const Directory>(std::move(directory));
}

StatusOr<std::shared_ptr<const std::string>> MetricPages::ReadPage(size_t number,
                                                                   const store::Page& page) const {
  const SegmentCache::Key key =
      SegmentCache::MetricsKey(facts_.generation, static_cast<uint32_t>(1 + number));
  if (cache_ != nullptr) {
    if (auto found = cache_->Find<std::string>(key); found != nullptr) return found;
  }
  ASSIGN_OR_RETURN(std::string text, ReadText(path_, page, kWhat));
  auto read = std::make_shared<const std::string>(std::move(text));
  if (cache_ != nullptr) cache_->Put(key, read, read->size() + DecodedColumn::kOverhead);
  return read;
}

Status MetricPages::ForEach(Kind kind, const std::vector<std::string_view>& names,
                            const std::function<Status(std::string_view, std::string_view,
                                                       const store::Page&)>& take) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Directory> directory, ReadDirectory());
  for (const Place& place : *directory) {
    const auto within = [&](std::string_view name) {
      return name >= place.first && name <= place.last;
    };
    if (place.kind != kind || (!names.empty() && std::none_of(names.begin(), names.end(), within)))
      continue;
    ASSIGN_OR_RETURN(const std::shared_ptr<const std::string> page,
                     ReadPage(static_cast<size_t>(&place - directory->data()), place.page));
    BinaryReader in(*page);
    while (in.ok() && !in.AtEnd()) {
      const std::string_view metric = in.StrView();
      const std::string_view told = in.StrView();
      if (in.ok() && Wanted(names, metric)) RETURN_IF_ERROR(take(metric, told, place.page));
    }
    if (!in.ok()) return MalformedPage(path_, place.page, kWhat);
  }
  return OkStatus();
}

Status MetricPages::ForEachRollups(const std::vector<std::string_view>& names,
                                   const std::function<Status(const MetricRollups&)>& take) const {
  return ForEach(kRollups, names,
                 [&](std::string_view, std::string_view told, const store::Page& page) -> Status {
                   MetricRollups rollups;
                   if (!Decode(told, &rollups)) return MalformedPage(path_, page, kWhat);
                   return take(rollups);
                 });
}

Status MetricPages::ForEachSpread(
    const std::vector<std::string_view>& names,
    const std::function<void(const Spreads::key_type&, const Spread&)>& take) const {
  return ForEach(
      kSpreads, names,
      [&](std::string_view metric, std::string_view told, const store::Page& page) -> Status {
        BinaryReader in(told);
        Spreads::key_type key;
        key.second = metric;
        for (size_t left = in.Count(3); left > 0 && in.ok(); --left) {
          key.first = in.StrView();
          Spread spread;
          spread.sketch.Restore(in);
          spread.sum = in.Double();
          if (in.ok()) take(key, spread);
        }
        return in.ok() && in.AtEnd() ? OkStatus() : MalformedPage(path_, page, kWhat);
      });
}

}  // namespace pitwall::insights
