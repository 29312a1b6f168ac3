#include "services/history/flush/flush_input.h"

#include <algorithm>
#include <tuple>

namespace pitwall::history {
namespace {

auto KeyOf(const OriginPtr& origin) { return std::tie(origin->source, origin->boot); }

std::vector<const SpanList*> Lists(const SpanList* sealed, const MemTable* head) {
  if (head == nullptr) return {sealed};
  return {sealed, &head->spans()};
}

}  // namespace

FlushInput::FlushInput(const MemTable* head, std::shared_ptr<const WindowSegment> sealed,
                       const std::map<OriginKey, SequenceRanges>* seen)
    : head_(head), sealed_(std::move(sealed)), seen_(*seen), spans_(Lists(&sealed_spans_, head)) {}

StatusOr<std::unique_ptr<const FlushInput>> FlushInput::Of(
    const MemTable* head, std::shared_ptr<const WindowSegment> sealed,
    const std::map<OriginKey, SequenceRanges>* seen) {
  std::unique_ptr<FlushInput> out(new FlushInput(head, std::move(sealed), seen));
  if (out->sealed_ != nullptr) {
    RETURN_IF_ERROR(out->sealed_->ReadSpans({}, &out->sealed_spans_, false));
    out->modes_ = out->sealed_->modes();
  }
  if (head != nullptr) RETURN_IF_ERROR(out->FindModes());
  out->FindTables();
  return std::unique_ptr<const FlushInput>(std::move(out));
}

void FlushInput::FindTables() {
  if (sealed_ != nullptr) {
    const std::vector<RowsTable> of_segment = sealed_->rows().Descriptions();
    for (size_t i = 0; i < of_segment.size(); ++i)
      tables_.push_back({of_segment[i].origin, of_segment[i].schema, i, {}});
  }
  for (size_t i = 0; head_ != nullptr && i < head_->tables(); ++i)
    tables_.push_back({head_->origin(i), head_->schema(i), SIZE_MAX, {i}});
  const auto key = [](const Table& table) {
    return std::tuple(KeyOf(table.origin), table.schema->stream, table.schema->id);
  };
  std::stable_sort(tables_.begin(), tables_.end(),
                   [&](const Table& a, const Table& b) { return key(a) < key(b); });
  std::vector<Table> merged;
  for (Table& table : tables_) {
    if (!merged.empty() && key(merged.back()) == key(table)) {
      merged.back().heads.insert(merged.back().heads.end(), table.heads.begin(), table.heads.end());
    } else {
      merged.push_back(std::move(table));
    }
  }
  tables_ = std::move(merged);
}

// New modes are numbered in the order of the head's tables and the rows within them.
Status FlushInput::FindModes() {
  const std::vector<std::string>& names = head_->modes().all();
  const auto is_new = [this](const std::string& name) { return modes_.Find(name) < 0; };
  if (std::count_if(names.begin(), names.end(), is_new) > 1) {
    for (size_t i = 0; i < head_->tables(); ++i) {
      ASSIGN_OR_RETURN(const RowTable rows, head_->Rows(i, MemTable::Values::kNone));
      for (const int64_t mode : rows.modes) modes_.Of(head_->modes().name(mode));
    }
  }
  for (const std::string& name : names) modes_of_head_.push_back(modes_.Of(name));
  return OkStatus();
}

StatusOr<RowTable> FlushInput::Read(const Table& table) const {
  std::optional<RowTable> out;
  if (table.sealed != SIZE_MAX) {
    ASSIGN_OR_RETURN(out, sealed_->rows().ReadWhole(table.sealed));
  }
  for (const size_t number : table.heads) {
    ASSIGN_OR_RETURN(RowTable rows, head_->Rows(number, MemTable::Values::kAll));
    for (int64_t& mode : rows.modes) mode = modes_of_head_[static_cast<size_t>(mode)];
    if (!out.has_value()) {
      out = std::move(rows);
      continue;
    }
    out->Append(rows);
    out->Sort();
  }
  return *std::move(out);
}

StatusOr<std::vector<Heartbeat>> FlushInput::ReadHeartbeats() const {
  std::vector<Heartbeat> out;
  if (sealed_ != nullptr) RETURN_IF_ERROR(sealed_->ReadHeartbeats(&out));
  if (head_ != nullptr) head_->beats().AppendTo(&out);
  std::stable_sort(out.begin(), out.end(), [](const Heartbeat& a, const Heartbeat& b) {
    return std::tuple(KeyOf(a.origin), a.promise_ns, a.sequence) <
           std::tuple(KeyOf(b.origin), b.promise_ns, b.sequence);
  });
  return out;
}

}  // namespace pitwall::history
