#include "services/history/query/paged_series.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

// Returns the index of a column in an ascending list, or the list's size if the column is absent.
// If all columns are selected, as is typical, the index equals the column.
size_t PlaceOf(const std::vector<uint32_t>& columns, uint32_t column) {
  if (column < columns.size() && columns[column] == column) return column;
  const auto at = std::lower_bound(columns.begin(), columns.end(), column);
  return at == columns.end() || *at != column ? columns.size()
                                              : static_cast<size_t>(at - columns.begin());
}

}  // namespace

std::vector<std::string_view> MetricNamesOf(const std::vector<Selector>& selectors) {
  std::vector<std::string_view> names;
  for (const Selector& selector : selectors) {
    names.push_back(selector.MetricName());
    if (names.back().empty()) return {};
  }
  return names;
}

MetricPages PagesOf(const HistoryStore& store, const SegmentMeta& facts) {
  return MetricPages(store.segments().PathOf(facts), facts, &store.segments().cache());
}

StatusOr<const WantedColumns*> PagedSeries::WantedOf(uint64_t schema, const SegmentMeta& facts) {
  const WantedColumns*& wanted = wanted_[schema];
  if (wanted != nullptr) return wanted;
  if (wanted = set_.Known(schema); wanted != nullptr) return wanted;
  std::optional<SharedSchema> known = store_.segments().schemas().Find(job_, schema);
  if (!known.has_value()) {  // the segment contains the schema; opening it adds the schema to the
                             // pool
    RETURN_IF_ERROR(store_.segments().Open(facts).status());
    known = store_.segments().schemas().Find(job_, schema);
  }
  if (!known.has_value()) {
    return DataLoss(Cat(store_.segments().PathOf(facts), ": series with an unknown schema (",
                        schema, "); restore the file or delete the job"));
  }
  ASSIGN_OR_RETURN(wanted, set_.Of(**known));
  return wanted;
}

Status PagedSeries::ReadExtents(
    const SegmentMeta& facts,
    const std::function<void(uint32_t series, const SeriesExtent& extent)>& take) {
  return PagesOf(store_, facts)
      .ForEachSeries([&](uint64_t schema, std::span<const SeriesRun> runs) -> Status {
        ASSIGN_OR_RETURN(const WantedColumns* wanted, WantedOf(schema, facts));
        const std::vector<uint32_t>& columns = wanted->columns;
        size_t at = 0;  // both lists are ascending
        for (const SeriesRun& run : runs) {
          while (at < columns.size() && columns[at] < run.first_column) ++at;
          for (; at < columns.size() && columns[at] - run.first_column < run.columns; ++at)
            take(wanted->series[at], run.extent);
        }
        return OkStatus();
      });
}

struct PagedSeries::Window {
  const SegmentMeta* facts;
  RollupCursor cursor;
  bool more = false;
  std::vector<const WantedColumns*> wanted{};  // indexed by the cursor's schema numbers
};

Status PagedSeries::ReadMetric(Window* window, const std::function<Status(const Rollups&)>& take) {
  RETURN_IF_ERROR(window->cursor.Read(&read_));
  const std::vector<uint64_t>& schemas = window->cursor.schemas();
  window->wanted.resize(schemas.size());
  series_.clear();
  series_.reserve(read_.columns.size());
  for (size_t i = 0; i < read_.columns.size(); ++i) {
    const WantedColumns*& wanted = window->wanted[read_.schemas[i]];
    if (wanted == nullptr) {
      ASSIGN_OR_RETURN(wanted, WantedOf(schemas[read_.schemas[i]], *window->facts));
    }
    const size_t at = PlaceOf(wanted->columns, read_.columns[i]);
    series_.push_back(at == wanted->columns.size() ? kUnwanted : wanted->series[at]);
  }
  return take({series_, read_.row_counts, read_.rows});
}

Status PagedSeries::ReadRollups(std::span<const SegmentMeta* const> windows,
                                const std::function<Status(const Rollups&)>& take) {
  std::vector<Window> open;
  open.reserve(windows.size());
  for (const SegmentMeta* facts : windows) {
    open.push_back({facts, RollupCursor(PagesOf(store_, *facts), &names_)});
    ASSIGN_OR_RETURN(open.back().more, open.back().cursor.Next());
  }
  for (;;) {
    const Window* least = nullptr;
    for (const Window& one : open) {
      if (one.more && (least == nullptr || one.cursor.metric() < least->cursor.metric()))
        least = &one;
    }
    if (least == nullptr) return OkStatus();
    const std::string metric(least->cursor.metric());
    for (Window& one : open) {
      while (one.more && one.cursor.metric() == metric) {
        RETURN_IF_ERROR(ReadMetric(&one, take));
        ASSIGN_OR_RETURN(one.more, one.cursor.Next());
      }
    }
  }
}

}  // namespace pitwall::history
