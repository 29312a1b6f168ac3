#include "rules/eval/label_table.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "absl/hash/hash.h"
#include "services/base/check.h"

namespace pitwall::eval {
namespace {

// Binding numbers are compared across evaluators, because alert states outlive a reload. The
// numbers are therefore unique within the process.
uint64_t NextBinding() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

size_t BytesOf(const Labels& labels) {
  size_t bytes = sizeof(Labels) + labels.size() * sizeof(Label);
  for (const Label& label : labels) {
    if (label.name.size() > 15) bytes += label.name.size() + 1;
    if (label.value.size() > 15) bytes += label.value.size() + 1;
  }
  return bytes;
}

}  // namespace

LabelColumn::LabelColumn(std::vector<const Labels*> sorted, std::vector<uint32_t> ids,
                         std::shared_ptr<const void> owner)
    : labels_(std::move(sorted)),
      ids_(std::move(ids)),
      owner_(std::move(owner)),
      binding_(NextBinding()) {}

LabelColumnPtr LabelColumn::Of(std::vector<Labels> labels) {
  auto owned = std::make_shared<std::vector<Labels>>(std::move(labels));
  std::sort(owned->begin(), owned->end());
  PITWALL_CHECK(std::adjacent_find(owned->begin(), owned->end()) == owned->end());
  std::vector<const Labels*> pointers;
  pointers.reserve(owned->size());
  for (const Labels& l : *owned) pointers.push_back(&l);
  return std::make_shared<const LabelColumn>(std::move(pointers), std::vector<uint32_t>(),
                                             std::move(owned));
}

int64_t LabelColumn::Find(const Labels& labels) const {
  const auto it = std::lower_bound(labels_.begin(), labels_.end(), labels,
                                   [](const Labels* a, const Labels& b) { return *a < b; });
  return it != labels_.end() && **it == labels ? it - labels_.begin() : -1;
}

bool LabelColumn::IsUniform() const {
  if (uniform_ == kNotLooked) {
    const auto same = [first = labels_.empty() ? nullptr : labels_[0]](const Labels* labels) {
      return std::equal(labels->begin(), labels->end(), first->begin(), first->end(),
                        [](const Label& a, const Label& b) {
                          return a.name == b.name && (a.name != kMetricName || a.value == b.value);
                        });
    };
    uniform_ = std::all_of(labels_.begin(), labels_.end(), same) ? kUniform : kMixed;
  }
  return uniform_ == kUniform;
}

size_t Vector::CountPresent() const {
  size_t n = 0;
  for (const uint8_t p : present) n += p != 0;
  return n;
}

size_t LabelTable::Hash::operator()(LabelId id) const {
  return absl::Hash<Labels>{}(table->Get(id));
}
size_t LabelTable::Hash::operator()(const Labels& labels) const {
  return absl::Hash<Labels>{}(labels);
}

LabelTable::LabelTable() : index_(0, Hash{this}, Equal{this}) {
  // drop_name() also drops the labels that Prometheus treats as part of the name.
  AddTransform(false, MetadataLabels());
}

LabelId LabelTable::Intern(const Labels& labels) {
  const auto it = index_.find(labels);
  if (it != index_.end()) return *it;
  LabelId id;
  if (free_.empty()) {
    id = static_cast<LabelId>(slots_.size());
    PITWALL_CHECK(id != kNoLabel);
    slots_.push_back(labels);
    rank_.push_back(0);
  } else {
    id = free_.back();
    free_.pop_back();
    slots_[id] = labels;
  }
  label_bytes_ += BytesOf(labels);
  index_.insert(id);
  pending_.push_back(id);
  return id;
}

TransformId LabelTable::AddTransform(bool keep, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (size_t i = 0; i < transforms_.size(); ++i) {
    if (transforms_[i].keep == keep && transforms_[i].names == names) {
      return static_cast<TransformId>(i);
    }
  }
  transforms_.push_back({keep, std::move(names), {}});
  return static_cast<TransformId>(transforms_.size() - 1);
}

LabelId LabelTable::Apply(TransformId transform, LabelId id) {
  Transform& t = transforms_[transform];
  if (id < t.memo.size() && t.memo[id] != kNoLabel) return t.memo[id];
  const Labels& from = slots_[id];
  const LabelId to = Intern(t.keep ? from.Keep(t.names) : from.Drop(t.names));
  if (t.memo.size() < slots_.size()) t.memo.resize(slots_.size(), kNoLabel);
  t.memo[id] = to;
  return to;
}

void LabelTable::Settle() {
  if (pending_.empty()) return;
  std::sort(pending_.begin(), pending_.end(),
            [this](LabelId a, LabelId b) { return slots_[a] < slots_[b]; });
  std::vector<LabelId> merged;
  merged.reserve(sorted_.size() + pending_.size());
  // For a few new label sets, searching for each position is cheaper than a full merge.
  auto from = sorted_.begin();
  for (const LabelId id : pending_) {
    const auto to = std::lower_bound(
        from, sorted_.end(), id, [this](LabelId a, LabelId b) { return slots_[a] < slots_[b]; });
    merged.insert(merged.end(), from, to);
    merged.push_back(id);
    from = to;
  }
  merged.insert(merged.end(), from, sorted_.end());
  sorted_ = std::move(merged);
  pending_.clear();
  for (size_t i = 0; i < sorted_.size(); ++i) rank_[sorted_[i]] = static_cast<uint32_t>(i);
}

LabelTable::Order LabelTable::Arrange(std::span<const LabelId> ids) {
  Settle();
  Order out;
  out.place.resize(ids.size());
  // Sorts without comparisons: marks the present ranks and then replaces the marks with positions.
  std::vector<uint32_t> number(sorted_.size(), kNoLabel);
  for (const LabelId id : ids) number[rank_[id]] = 0;
  out.unique.reserve(ids.size());
  for (size_t rank = 0; rank < number.size(); ++rank) {
    if (number[rank] == kNoLabel) continue;
    number[rank] = static_cast<uint32_t>(out.unique.size());
    out.unique.push_back(sorted_[rank]);
  }
  out.injective = out.unique.size() == ids.size();
  out.identity = out.injective;
  for (size_t i = 0; i < ids.size(); ++i) {
    out.place[i] = number[rank_[ids[i]]];
    out.identity = out.identity && out.place[i] == i;
  }
  return out;
}

LabelColumnPtr LabelTable::Column(std::vector<LabelId> ids) {
  size_t kept = 0;
  LabelColumnPtr equal;
  for (auto& weak : columns_) {
    LabelColumnPtr column = weak.lock();
    if (column == nullptr) continue;
    if (equal == nullptr && column->size() == ids.size() &&
        std::equal(ids.begin(), ids.end(), column->ids().begin())) {
      equal = column;
    }
    columns_[kept++] = column;
  }
  columns_.resize(kept);
  if (equal != nullptr) return equal;
  std::vector<const Labels*> pointers;
  pointers.reserve(ids.size());
  for (const LabelId id : ids) pointers.push_back(&slots_[id]);
  auto column =
      std::make_shared<const LabelColumn>(std::move(pointers), std::move(ids), shared_from_this());
  columns_.push_back(column);
  return column;
}

void LabelTable::Collect(const std::vector<std::span<const LabelId>>& roots) {
  std::vector<uint8_t> live(slots_.size(), 0);
  for (const auto& root : roots) {
    for (const LabelId id : root) live[id] = 1;
  }
  for (const auto& weak : columns_) {
    if (const LabelColumnPtr column = weak.lock()) {
      for (const LabelId id : column->ids()) live[id] = 1;
    }
  }
  Settle();
  std::erase_if(sorted_, [&](LabelId id) { return live[id] == 0; });
  for (LabelId id = 0; id < live.size(); ++id) {
    if (live[id] != 0) continue;
    const auto it = index_.find(id);
    if (it == index_.end()) continue;  // this ID is already free
    index_.erase(it);
    label_bytes_ -= BytesOf(slots_[id]);
    slots_[id] = Labels();
    free_.push_back(id);
  }
  for (size_t i = 0; i < sorted_.size(); ++i) rank_[sorted_[i]] = static_cast<uint32_t>(i);
  // Cached results may refer to freed label sets, so the caches are cleared. Results are computed
  // again on demand.
  for (Transform& t : transforms_) {
    t.memo.clear();
    t.memo.shrink_to_fit();
  }
  kept_at_collect_ = index_.size();
  kept_bytes_ = label_bytes_;
}

size_t LabelTable::MemoryBytes() const {
  size_t bytes =
      label_bytes_ + index_.capacity() * 5 +
      (sorted_.capacity() + pending_.capacity() + rank_.capacity() + free_.capacity()) * 4;
  for (const Transform& t : transforms_) bytes += t.memo.capacity() * sizeof(LabelId);
  for (const auto& weak : columns_) {
    if (const auto column = weak.lock()) bytes += column->size() * 12 + sizeof(LabelColumn);
  }
  return bytes;
}

}  // namespace pitwall::eval
