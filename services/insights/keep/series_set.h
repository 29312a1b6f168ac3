// The series that a question is about: which columns of each schema they are, worked out once a
// schema and not once a row.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/matcher.h"
#include "services/model/telemetry.h"

namespace pitwall::insights {

// Columns of a schema that the question wants, and the series each is.
struct WantedColumns {
  std::vector<uint32_t> columns;  // ascending
  std::vector<uint32_t> series;   // as many: indexes into SeriesSet::all()
};

// Not thread-safe.
class SeriesSet {
 public:
  struct Entry {
    Labels labels;
    SeriesKind kind = SeriesKind::kGauge;
  };

  // Without selectors: all. `limit`: at most so many series.
  SeriesSet(std::vector<Selector> selectors, size_t limit)
      : selectors_(std::move(selectors)), limit_(limit) {}
  // ResourceExhausted: too many series.
  StatusOr<const WantedColumns*> Of(const Schema& schema);
  const std::vector<Entry>& all() const { return all_; }
  // Indexes into all(), in the order of labels.
  std::vector<uint32_t> InOrder() const;

 private:
  const std::vector<Selector> selectors_;
  const size_t limit_;
  std::vector<Entry> all_;
  absl::flat_hash_map<Labels, uint32_t> index_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<WantedColumns>> schemas_;  // by id
};

}  // namespace pitwall::insights
