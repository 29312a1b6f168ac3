// Label sets of one evaluator, interned: inside rules/eval an element is a number, and comparing,
// grouping and sorting label sets is done with numbers. Only binding touches this; a tick does not.
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

// __name__, __type__ and __unit__: what an operation that computes a new value takes away.
inline std::vector<std::string> MetadataLabels() {
  return {std::string(kMetricName), "__type__", "__unit__"};
}

// A function from label sets to label sets, remembered per id.
using TransformId = uint32_t;

// Not thread-safe. Held by the columns that it makes, since they point into it.
class LabelTable : public std::enable_shared_from_this<LabelTable> {
 public:
  LabelTable();

  LabelId Intern(const Labels& labels);
  const Labels& Get(LabelId id) const { return slots_[id]; }
  // Ids are below this.
  size_t limit() const { return slots_.size(); }

  // Equal transforms have equal ids. keep: only these names; else all but these.
  TransformId AddTransform(bool keep, std::vector<std::string> names);
  TransformId drop_name() const { return 0; }  // all of MetadataLabels()
  LabelId Apply(TransformId transform, LabelId id);

  // Position of an id among all interned label sets, in labels.h order. Valid after Settle until
  // the next Intern.
  void Settle();
  uint32_t Rank(LabelId id) const { return rank_[id]; }

  // Elements put into the order of their label sets, equal ones together.
  struct Order {
    std::vector<LabelId> unique;  // in order
    std::vector<uint32_t> place;  // of each element among `unique`
    bool injective = false;       // no two elements fell together
    bool identity = false;        // and they stood in order already
  };
  Order Arrange(std::span<const LabelId> ids);

  // The column of these ids, which must be sorted by rank and unique. An equal column that is still
  // held is shared.
  LabelColumnPtr Column(std::vector<LabelId> ids);

  // Whether so many label sets came that forgetting the unused ones is worth the work.
  bool WantsCollect() const {
    return index_.size() > 2 * kept_at_collect_ + 1024 ||
           label_bytes_ > 2 * kept_bytes_ + (size_t{16} << 20);
  }
  // Forgets label sets that no column and none of `roots` holds. The others keep their ids.
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

  std::deque<Labels> slots_;  // addresses stay
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
