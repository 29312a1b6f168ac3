// Shared parts of the writers of a window's tables.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "services/history/segments/window_segment.h"

namespace pitwall::history {

// A segment that is being written, and the numbers that origins and schemas have in it.
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

// Columns are given by functions of a range of rows.
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

// When rows of a table are that is written: they tell where spans end.
struct RowTimes {
  size_t origin;            // number in the segment
  std::string_view metric;  // by which rows are known; of a schema that outlives it
  std::vector<int64_t> times;
};
// A source has one table of each at a time. Empty: rows are known by none.
std::string_view MetricOf(const Schema& schema);

// Spans and an index of their groups (window_spans.cc). `rows`: of the segment, of origins that
// have spans.
Status WriteSpans(const SpanLists& spans, const std::vector<RowTimes>& rows, SegmentBuilder* w);

}  // namespace pitwall::history
