// Table of a store's series: labels by ID, and the newest sealed sample of each series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/model/labels.h"
#include "services/window/store/series_store.h"

namespace pitwall::window {

// Newest sealed sample of a series, including stale markers. The position is Position::Earliest()
// if there is no sample.
struct LastSample {
  Position position = Position::Earliest();
  double value = 0;
};

// Not thread-safe. IDs are indexes, and the IDs of forgotten series are reused.
class SeriesTable {
 public:
  // Uses the limits max_series and max_label_bytes.
  explicit SeriesTable(const Limits& limits)
      : max_series_(limits.max_series), max_label_bytes_(limits.max_label_bytes) {}

  // Returns the number of known series.
  size_t count() const { return known_; }
  // Returns a number that is greater than every ID.
  uint32_t size() const { return static_cast<uint32_t>(series_.size()); }
  // Returns whether less than 1/`share` of the capacity for labels or series is left.
  bool IsCrowded(size_t share) const;

  std::optional<SeriesId> Find(const Labels& labels) const;
  // Adds a new series. `sealed` is the store's sealed position. Returns ResourceExhausted above
  // max_series and OutOfRange above max_label_bytes.
  StatusOr<SeriesId> Add(const Labels& labels, Position sealed);
  void Forget(SeriesId id);
  bool Known(SeriesId id) const { return id.value() < series_.size() && series_[id.value()].known; }
  // Returns the labels of a known series. The returned address is stable until Forget is called.
  const Labels& labels(SeriesId id) const { return series_[id.value()].labels; }
  // Returns the labels of a series, or nullptr if the ID is unknown.
  const Labels* LabelsOf(SeriesId id) const { return Known(id) ? &labels(id) : nullptr; }

  // Returns whether the series is dormant: it has expired, but a plan pins its ID. A dormant series
  // has no column until its next sample.
  bool dormant(SeriesId id) const { return series_[id.value()].dormant; }
  void SetDormant(SeriesId id, bool dormant) { series_[id.value()].dormant = dormant; }

  // Returns the newest sealed sample of a series that has not been forgotten.
  const LastSample& last(SeriesId id) const { return last_[id.value()]; }
  // Sets the last sample if it is newer. Otherwise returns false and changes nothing.
  bool Push(SeriesId id, Position position, double value) {
    LastSample& newest = last_[id.value()];
    if (newest.position >= position) return false;
    newest = {position, value};
    return true;
  }
  // Returns the position of the last sample, or the sealed position at the time the series was
  // added, whichever is later.
  Position LastUse(SeriesId id) const;
  // Drops every series' last sample, as if all series had been added before the first sample.
  void DropSamples();

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in);
  size_t MemoryBytes() const;

 private:
  struct Series {
    Labels labels;
    bool known = false;  // false if the ID is free
    bool dormant = false;
    Position added_at = Position::Earliest();  // value of sealed() when the series was added
  };
  // Hash of labels. The map stores pointers to the labels in Series.
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
  std::deque<Series> series_;     // indexed by ID; addresses are stable
  std::vector<LastSample> last_;  // indexed by ID
  std::vector<uint32_t> free_ids_;
  size_t known_ = 0;
  size_t label_bytes_ = 0;  // total label size of the known series (LabelBytes)
  absl::flat_hash_map<const Labels*, uint32_t, LabelsHash, LabelsEq> ids_;
};

}  // namespace pitwall::window
