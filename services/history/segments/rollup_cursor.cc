#include "services/history/segments/rollup_cursor.h"

#include <algorithm>
#include <numeric>

#include "services/history/segments/text_page.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kWhat = "metric page";

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
    content_ = in_.StrView();
    if (!in_.ok()) return Malformed();
    if (names_.empty() || std::find(names_.begin(), names_.end(), metric_) != names_.end())
      return true;
  }
}

Status RollupCursor::Malformed() const { return MalformedPage(pages_.path_, place_, kWhat); }

bool RollupCursor::ReadColumns(BinaryReader& in, PagedRollups* out) {
  // The buffers are reused, and their old contents are overwritten below.
  std::vector<int64_t>&schemas = out->rows.starts, &columns = out->rows.counts;
  in.I64s(&schemas);
  in.I64s(&columns);
  if (!in.ok() || schemas.size() != columns.size()) return false;
  out->schemas.resize(schemas.size());
  out->columns.resize(schemas.size());
  for (size_t i = 0; i < schemas.size(); ++i) {
    if (static_cast<uint64_t>(schemas[i]) >= directory_->schemas.size() ||
        static_cast<uint64_t>(columns[i]) > UINT32_MAX)
      return false;
    out->schemas[i] = static_cast<uint32_t>(schemas[i]);
    out->columns[i] = static_cast<uint32_t>(columns[i]);
  }
  return true;
}

bool RollupCursor::ReadRows(BinaryReader& in, PagedRollups* out) {
  in.U32s(&out->row_counts);
  in.I64s(&out->rows.starts);
  in.I64s(&out->rows.counts);
  const size_t rows = out->rows.starts.size();
  const size_t values = in.Count(sizeof(double));
  out->rows.values = in.Raw(values * sizeof(double)).data();
  return in.ok() && in.AtEnd() && out->row_counts.size() == out->columns.size() &&
         out->rows.counts.size() == rows && values == rows * RollupColumns::kValues &&
         std::accumulate(out->row_counts.begin(), out->row_counts.end(), size_t{0}) == rows;
}

Status RollupCursor::Read(PagedRollups* out) {
  BinaryReader in(content_);
  return ReadColumns(in, out) && ReadRows(in, out) ? OkStatus() : Malformed();
}

}  // namespace pitwall::history
