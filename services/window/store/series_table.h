// The series of a store: their labels, by id, and the newest sealed sample of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/position.h"
#include "services/window/store/series_store.h"

namespace pitwall::window {

// The newest sealed sample of a series, stale markers included. position == kMinPosition: none.
struct LastSample {
  int64_t position = kMinPosition;
  double value = 0;
};

// Not thread-safe. Ids are indices; those of forgotten series are given to new ones.
class SeriesTable {
 public:
  // max_series and max_label_bytes apply.
  explicit SeriesTable(const Limits& limits)
      : max_series_(limits.max_series), max_label_bytes_(limits.max_label_bytes) {}

  // Known series.
  size_t count() const { return known_; }
  // Ids are less than this.
  uint32_t size() const { return static_cast<uint32_t>(series_.size()); }
  // Whether room for labels or series is scarce: less than one part in `share` is left.
  bool IsCrowded(size_t share) const;

  std::optional<SeriesId> Find(const Labels& labels) const;
  // Adds a series that is not known. `sealed`: where the store is. ResourceExhausted beyond
  // max_series, OutOfRange beyond max_label_bytes.
  StatusOr<SeriesId> Add(const Labels& labels, int64_t sealed);
  void Forget(SeriesId id);
  bool Known(SeriesId id) const { return id.value() < series_.size() && series_[id.value()].known; }
  // Of a known series. The address is stable until Forget.
  const Labels& labels(SeriesId id) const { return series_[id.value()].labels; }

  // A dormant series expired, but a plan pins its id: it has no column until its next sample.
  bool dormant(SeriesId id) const { return series_[id.value()].dormant; }
  void SetDormant(SeriesId id, bool dormant) { series_[id.value()].dormant = dormant; }

  const LastSample& last(SeriesId id) const { return last_[id.value()]; }
  // Makes a sample the last one. False, without a change, unless it is newer.
  bool Push(SeriesId id, int64_t position, double value) {
    LastSample& newest = last_[id.value()];
    if (newest.position >= position) return false;
    newest = {position, value};
    return true;
  }
  // Position of the last sample, or where the store was when the series was added, if later.
  int64_t LastUse(SeriesId id) const;
  void DropLast(SeriesId id) { last_[id.value()] = LastSample(); }
  // Drops all last samples, as if all series were added before the first one.
  void DropSamples();

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in);
  size_t MemoryBytes() const;

 private:
  struct Series {
    Labels labels;
    bool known = false;  // false: the id is free
    bool dormant = false;
    int64_t added_at = kMinPosition;  // sealed() then
  };
  // By their labels, which are in Series only.
  struct LabelsHash {
    using is_transparent = void;
    size_t operator()(const Labels& labels) const { return absl::Hash<Labels>{}(labels); }
    size_t operator()(const Labels* labels) const { return (*this)(*labels); }
  };
  struct LabelsEq {
    using is_transparent = void;
    bool operator()(const Labels* a, const Labels* b) const { return *a == *b; }
    bool operator()(const Labels* a, const Labels& b) const { return *a == b; }
    bool operator()(const Labels& a, const Labels* b) const { return a == *b; }
  };

  const size_t max_series_;
  const size_t max_label_bytes_;
  std::deque<Series> series_;     // by id; addresses are stable
  std::vector<LastSample> last_;  // by id
  std::vector<uint32_t> free_ids_;
  size_t known_ = 0;
  size_t label_bytes_ = 0;  // of the known series (LabelBytes)
  absl::flat_hash_map<const Labels*, uint32_t, LabelsHash, LabelsEq> ids_;
};

}  // namespace pitwall::window
