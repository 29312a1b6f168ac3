#include "services/insights/keep/rollup_cursor.h"

#include <algorithm>
#include <cstring>

#include "services/insights/keep/text_page.h"

namespace pitwall::insights {
namespace {

constexpr std::string_view kWhat = "a page of metrics";

// False: malformed.
bool RestoreColumns(BinaryReader& in, size_t schemas, PagedRollups* out) {
  const size_t count = in.Count();
  out->schemas.reserve(count);
  uint64_t schema = 0;
  for (size_t i = 0; i < count; ++i) {
    schema += static_cast<uint64_t>(in.I64());
    if (schema >= schemas) return false;
    out->schemas.push_back(static_cast<uint32_t>(schema));
  }
  if (in.Count() != count) return false;
  out->columns.reserve(count);
  uint64_t column = 0;
  for (size_t i = 0; i < count; ++i) {
    column += static_cast<uint64_t>(in.I64());
    if (column > UINT32_MAX) return false;
    out->columns.push_back(static_cast<uint32_t>(column));
  }
  return in.ok();
}

// Of the first form, which tells ids: those that are not known yet are added.
void RestoreFirstColumns(BinaryReader& in, std::vector<uint64_t>* schemas, PagedRollups* out) {
  for (size_t left = in.Count(2); left > 0 && in.ok(); --left) {
    const uint64_t schema = in.U64();
    const auto at = std::find(schemas->begin(), schemas->end(), schema);
    const auto number = static_cast<uint32_t>(at - schemas->begin());
    if (at == schemas->end()) schemas->push_back(schema);
    const std::vector<uint32_t> columns = in.U32s();
    out->columns.insert(out->columns.end(), columns.begin(), columns.end());
    out->schemas.resize(out->columns.size(), number);
  }
}

// False: malformed.
bool RestoreRows(BinaryReader& in, PagedRollups* out) {
  constexpr size_t kRowBytes = MetricRollups::kValues * sizeof(double);
  const size_t series = in.Count();
  if (!in.ok() || series != out->columns.size()) return false;
  out->row_counts.reserve(series);
  size_t total = 0;
  for (size_t i = 0; i < series; ++i) {
    out->row_counts.push_back(static_cast<uint32_t>(in.U64()));
    total += out->row_counts.back();
  }
  const size_t rows = in.Count();
  if (!in.ok() || rows != total) return false;
  out->rows.resize(rows);
  // Differences, unsigned: those of a damaged file may be any.
  uint64_t start = 0;
  for (RollupRow& row : out->rows) {
    start += static_cast<uint64_t>(in.I64());
    row.start_ns = static_cast<int64_t>(start * uint64_t{kTiers[kPagedTier]});
  }
  if (in.Count() != rows) return false;
  uint64_t count = 0;
  for (RollupRow& row : out->rows) {
    count += static_cast<uint64_t>(in.I64());
    row.count = static_cast<uint32_t>(count);
  }
  const size_t values = in.Count(sizeof(double));
  if (!in.ok() || values != rows * MetricRollups::kValues) return false;
  const std::string_view bytes = in.Raw(rows * kRowBytes);
  if (!in.ok() || !in.AtEnd()) return false;
  for (size_t i = 0; i < rows; ++i) {
    double of_row[MetricRollups::kValues];
    std::memcpy(of_row, bytes.data() + i * kRowBytes, kRowBytes);
    RollupRow& row = out->rows[i];
    row.min = of_row[0];
    row.max = of_row[1];
    row.last = of_row[2];
    row.sum = of_row[3];
  }
  return true;
}

}  // namespace

StatusOr<bool> RollupCursor::NextPage() {
  if (directory_ == nullptr) {
    ASSIGN_OR_RETURN(directory_, pages_.ReadDirectory());
  }
  for (; next_place_ < directory_->places.size(); ++next_place_) {
    const MetricPages::Place& place = directory_->places[next_place_];
    const auto within = [&](std::string_view name) {
      return name >= place.first && name <= place.last;
    };
    if (place.kind != MetricPages::kRollups ||
        (!names_.empty() && std::none_of(names_.begin(), names_.end(), within)))
      continue;
    ASSIGN_OR_RETURN(page_, pages_.ReadPage(*directory_, place));
    in_ = BinaryReader(*page_);
    place_ = place.page;
    ++next_place_;
    return true;
  }
  return false;
}

StatusOr<bool> RollupCursor::Next() {
  for (;;) {
    if (page_ == nullptr || in_.AtEnd()) {
      ASSIGN_OR_RETURN(const bool more, NextPage());
      if (!more) return false;
    }
    metric_ = in_.StrView();
    told_ = in_.StrView();
    if (!in_.ok()) return Malformed();
    if (names_.empty() || std::find(names_.begin(), names_.end(), metric_) != names_.end())
      return true;
  }
}

Status RollupCursor::Malformed() const { return MalformedPage(pages_.path_, place_, kWhat); }

Status RollupCursor::Read(PagedRollups* out) {
  out->schemas.clear();
  out->columns.clear();
  out->row_counts.clear();
  BinaryReader in(told_);
  bool whole = true;
  if (directory_->first_form) {
    RestoreFirstColumns(in, &own_schemas_, out);
  } else {
    whole = RestoreColumns(in, directory_->schemas.size(), out);
  }
  return whole && RestoreRows(in, out) ? OkStatus() : Malformed();
}

}  // namespace pitwall::insights
