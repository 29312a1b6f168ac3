// Code shared by the writers of a window's tables.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
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
  for (size_t from = 0; from < rows; from += group)
    RETURN_IF_ERROR(out->AddRows(table, columns(from, std::min(rows, from + group)), hints));
  return OkStatus();
}

// Adds a table of integers. The columns have equal lengths.
inline Status AddIntTable(store::SegmentWriter* out, store::TableKind kind, std::string key,
                          std::span<const std::vector<int64_t>> columns) {
  std::vector<store::ColumnType> types(columns.size(), store::ColumnType::kInt);
  ASSIGN_OR_RETURN(const size_t table, out->AddTable(kind, std::move(key), std::move(types)));
  return AddInGroups(out, table, columns[0].size(), store::kMaxGroupRows,
                     [&](size_t from, size_t to) {
                       std::vector<store::ColumnRows> part;
                       for (const auto& column : columns) part.emplace_back(Part(column, from, to));
                       return part;
                     });
}

// Table of texts, with one row and one group per text. The time of each row is the window's start.
class TextTable {
 public:
  static StatusOr<TextTable> Of(store::SegmentWriter* out, store::TableKind kind, std::string key,
                                int64_t window_ns) {
    using enum store::ColumnType;
    ASSIGN_OR_RETURN(const size_t number, out->AddTable(kind, std::move(key), {kInt, kText}));
    return TextTable(out, number, window_ns);
  }
  // Adds a text and returns the location of its page.
  StatusOr<store::Page> Add(const std::string& text) {
    const std::span<const int64_t> time(&window_ns_, 1);
    const std::span<const std::string> texts(&text, 1);
    const std::vector<store::ColumnRows> columns = {time, texts};
    RETURN_IF_ERROR(out_->AddRows(number_, columns, nullptr));
    return table().groups.back().pages[1];
  }
  const store::Table& table() const { return out_->table(number_); }

 private:
  TextTable(store::SegmentWriter* out, size_t number, int64_t window_ns)
      : out_(out), number_(number), window_ns_(window_ns) {}

  store::SegmentWriter* out_;
  size_t number_;
  int64_t window_ns_;
};

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
