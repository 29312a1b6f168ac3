// Code shared by the writers of a window's tables.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "services/history/segments/window_segment.h"

namespace pitwall::history {

// State of a segment that is being written, with the numbers assigned to its origins and schemas.
struct SegmentBuilder {
  store::SegmentWriter* out;
  std::map<OriginKey, size_t> origins;
  std::vector<OriginPtr> origin_list;
  std::map<uint64_t, size_t> schemas;
  std::vector<const Schema*> schema_list;

  size_t OriginOf(const OriginPtr& origin) {
    const auto [at, added] =
        origins.try_emplace({origin->source, origin->boot}, origin_list.size());
    if (added) origin_list.push_back(origin);
    return at->second;
  }
  size_t SchemaOf(const Schema& schema) {
    const auto [at, added] = schemas.try_emplace(schema.id, schema_list.size());
    if (added) schema_list.push_back(&schema);
    return at->second;
  }
};

template <typename T>
std::span<const T> Part(const std::vector<T>& column, size_t from, size_t to) {
  return std::span<const T>(column).subspan(from, to - from);
}

// Writes the rows of a table in groups. `columns` returns the columns for a range of rows.
inline Status AddInGroups(
    store::SegmentWriter* out, size_t table, size_t rows, size_t group,
    const std::function<std::vector<store::ColumnRows>(size_t, size_t)>& columns,
    blocks::FormHint* hints = nullptr) {
  for (size_t from = 0; from < rows; from += group) {
    const size_t to = std::min(rows, from + group);
    const std::vector<store::ColumnRows> part = columns(from, to);
    RETURN_IF_ERROR(out->AddRows(table, part, hints));
  }
  return OkStatus();
}

// Row times of a written table. Spans often end at these times.
struct RowTimes {
  size_t origin;  // origin number in the segment
  // Metric that identifies the rows. Points into a schema that outlives this struct.
  std::string_view metric;
  std::vector<int64_t> times;
};
// Returns the identifying metric of a schema. At any time, only one table of a source has this
// metric. Returns an empty name if the schema has no such metric.
std::string_view MetricOf(const Schema& schema);

// Writes spans and an index of their groups (window_spans.cc). `rows` contains the segment's row
// times for the origins that have spans.
Status WriteSpans(const SpanLists& spans, const std::vector<RowTimes>& rows, SegmentBuilder* w);

}  // namespace pitwall::history
