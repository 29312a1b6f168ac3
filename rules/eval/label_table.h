// Interned label sets of one evaluator: inside rules/eval an element is a number, and label sets
// are compared, grouped, and sorted by number. Only binding uses this table; a tick does not.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "rules/eval/vector.h"
#include "services/model/labels.h"

namespace pitwall::eval {

using LabelId = uint32_t;
inline constexpr LabelId kNoLabel = UINT32_MAX;

// __name__, __type__, and __unit__: the labels that an operation with a new value drops.
inline std::vector<std::string> MetadataLabels() {
  return {std::string(kMetricName), "__type__", "__unit__"};
}

// A function from label sets to label sets, cached per ID.
using TransformId = uint32_t;

// Not thread-safe. Columns share ownership of the table, since they point into it.
class LabelTable : public std::enable_shared_from_this<LabelTable> {
 public:
  LabelTable();

  LabelId Intern(const Labels& labels);
  const Labels& Get(LabelId id) const { return slots_[id]; }
  // Upper bound of the IDs, exclusive.
  size_t limit() const { return slots_.size(); }

  // Equal transforms have equal IDs. keep: retain only these names; otherwise drop them.
  TransformId AddTransform(bool keep, std::vector<std::string> names);
  TransformId drop_name() const { return 0; }  // drops MetadataLabels()
  LabelId Apply(TransformId transform, LabelId id);

  // Position of an ID among all interned label sets, in labels.h order. Valid after Settle until
  // the next Intern.
  void Settle();
  uint32_t Rank(LabelId id) const { return rank_[id]; }

  // Elements in label-set order, with equal ones merged.
  struct Order {
    std::vector<LabelId> unique;  // in order
    std::vector<uint32_t> place;  // position of each element in `unique`
    bool injective = false;       // whether no two elements were merged
    bool identity = false;        // and the elements were already in order
  };
  Order Arrange(std::span<const LabelId> ids);

  // The column of these IDs, which must be sorted by rank and unique. Shares an equal column that
  // is still held.
  LabelColumnPtr Column(std::vector<LabelId> ids);

  // Whether enough label sets were added to justify a Collect.
  bool WantsCollect() const {
    return index_.size() > 2 * kept_at_collect_ + 1024 ||
           label_bytes_ > 2 * kept_bytes_ + (size_t{16} << 20);
  }
  // Frees label sets that neither a column nor `roots` holds. The others keep their IDs.
  void Collect(const std::vector<std::span<const LabelId>>& roots);

  size_t MemoryBytes() const;
  // Bytes of the label sets alone.
  size_t LabelBytes() const { return label_bytes_; }

 private:
  struct Hash {
    using is_transparent = void;
    const LabelTable* table;
    size_t operator()(LabelId id) const;
    size_t operator()(const Labels& labels) const;
  };
  struct Equal {
    using is_transparent = void;
    const LabelTable* table;
    bool operator()(LabelId a, LabelId b) const { return a == b; }
    bool operator()(LabelId a, const Labels& b) const { return table->Get(a) == b; }
    bool operator()(const Labels& a, LabelId b) const { return table->Get(b) == a; }
  };
  struct Transform {
    bool keep;
    std::vector<std::string> names;
    std::vector<LabelId> memo;
  };

  std::deque<Labels> slots_;  // stable addresses
  std::vector<LabelId> free_;
  absl::flat_hash_set<LabelId, Hash, Equal> index_;
  std::vector<LabelId> sorted_;   // by labels
  std::vector<LabelId> pending_;  // interned since the last Settle
  std::vector<uint32_t> rank_;
  std::deque<Transform> transforms_;
  std::vector<std::weak_ptr<const LabelColumn>> columns_;
  size_t label_bytes_ = 0;
  size_t kept_at_collect_ = 0;
  size_t kept_bytes_ = 0;  // after the last Collect
};

}  // namespace pitwall::eval
