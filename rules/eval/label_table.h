// Table of the interned label sets of one evaluator. Inside rules/eval, an element is represented
// by a number, and label sets are compared, grouped, and sorted by number. Only binding uses this
// table; ticks do not.
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

// Returns __name__, __type__, and __unit__. Operations that compute a new value drop these labels.
inline std::vector<std::string> MetadataLabels() {
  return {std::string(kMetricName), "__type__", "__unit__"};
}

// Function that maps label sets to label sets, with results cached per ID.
using TransformId = uint32_t;

// Not thread-safe. Columns share ownership of the table, because they point into it.
class LabelTable : public std::enable_shared_from_this<LabelTable> {
 public:
  LabelTable();

  LabelId Intern(const Labels& labels);
  const Labels& Get(LabelId id) const { return slots_[id]; }
  // Returns the exclusive upper bound for IDs.
  size_t limit() const { return slots_.size(); }

  // Adds a transform. Equal transforms have equal IDs. If `keep` is true, the transform keeps only
  // these label names; otherwise it drops them.
  TransformId AddTransform(bool keep, std::vector<std::string> names);
  TransformId drop_name() const { return 0; }  // drops MetadataLabels()
  LabelId Apply(TransformId transform, LabelId id);

  // Rank returns the position of an ID among all interned label sets, in labels.h order. The
  // position is valid from a call to Settle until the next call to Intern.
  void Settle();
  uint32_t Rank(LabelId id) const { return rank_[id]; }

  // Elements in label-set order, with equal elements merged.
  struct Order {
    std::vector<LabelId> unique;  // IDs in label-set order
    std::vector<uint32_t> place;  // position of each element in `unique`
    bool injective = false;       // true if no elements were merged
    bool identity = false;        // true if, in addition, the elements were already in order
  };
  Order Arrange(std::span<const LabelId> ids);

  // Returns the column for these IDs, which must be sorted by rank and unique. Reuses an equal
  // column that still has an owner.
  LabelColumnPtr Column(std::vector<LabelId> ids);

  // Returns true if enough label sets were added since the last collection to justify a Collect.
  bool WantsCollect() const {
    return index_.size() > 2 * kept_at_collect_ + 1024 ||
           label_bytes_ > 2 * kept_bytes_ + (size_t{16} << 20);
  }
  // Frees label sets that neither a column nor `roots` contains. All other label sets keep their
  // IDs.
  void Collect(const std::vector<std::span<const LabelId>>& roots);

  size_t MemoryBytes() const;
  // Returns the size of the label sets alone, in bytes.
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

  std::deque<Labels> slots_;  // a deque, because addresses must be stable
  std::vector<LabelId> free_;
  absl::flat_hash_set<LabelId, Hash, Equal> index_;
  std::vector<LabelId> sorted_;   // sorted by labels
  std::vector<LabelId> pending_;  // IDs interned since the last Settle
  std::vector<uint32_t> rank_;
  std::deque<Transform> transforms_;
  std::vector<std::weak_ptr<const LabelColumn>> columns_;
  size_t label_bytes_ = 0;
  size_t kept_at_collect_ = 0;
  size_t kept_bytes_ = 0;  // number of label sets after the last Collect
};

}  // namespace pitwall::eval
