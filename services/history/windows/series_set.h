// Series selected by a query. The matching columns are resolved once per schema instead of once per
// row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "services/base/status.h"
#include "services/history/series_table.h"
#include "services/history/windows/schema_pool.h"
#include "services/model/labels.h"
#include "services/model/matcher.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

// Schema columns that a query selects, and their series.
struct WantedColumns {
  std::vector<uint32_t> columns;  // ascending
  std::vector<uint32_t> series;   // same size as `columns`; indexes into SeriesSet::all()
};

// All series of a job, collected by an earlier query without selectors and cached for the next
// query.
struct KnownSeries {
  SeriesTablePtr table;
  absl::flat_hash_map<uint64_t, std::shared_ptr<const WantedColumns>> schemas;  // by schema ID
  size_t bytes() const;
};

// Set of the series that a query selects. Not thread-safe.
class SeriesSet {
 public:
  // Without selectors, the set selects all series. `limit` is the maximum number of series. `pool`
  // may be null; otherwise, it contains schemas of the job and must outlive the set. `known` may be
  // null; otherwise, it must belong to the same job, and the set must have no selectors.
  SeriesSet(std::vector<Selector> selectors, size_t limit, const SchemaPool* pool = nullptr,
            std::string_view job = {}, std::shared_ptr<const KnownSeries> known = nullptr);
  SeriesSet(const SeriesSet&) = delete;  // index_ contains pointers into this object
  SeriesSet& operator=(const SeriesSet&) = delete;
  // Returns the selected columns of the schema. Returns ResourceExhausted if there are too many
  // series.
  StatusOr<const WantedColumns*> Of(const Schema& schema);
  // Returns the selected columns if the schema is known or already resolved, and otherwise nullptr.
  const WantedColumns* Known(uint64_t schema) const {
    const auto& schemas = known_ != nullptr ? known_->schemas : schemas_;
    const auto at = schemas.find(schema);
    return at == schemas.end() ? nullptr : at->second.get();
  }
  const std::vector<SeriesDescriptor>& all() const {
    return known_ != nullptr ? known_->table->series : all_;
  }
  // Returns whether two schemas disagree on the kind of a series. If they do, the kind from the
  // first schema is used.
  bool two_kinds() const { return two_kinds_; }
  // Returns indexes into all() in label order.
  std::vector<uint32_t> InOrder() const;
  // Returns the known series if there are any. Otherwise, returns all series found so far and
  // empties the set.
  std::shared_ptr<const KnownSeries> Take();

 private:
  // Prepares the set for a schema that is not among the known schemas.
  void Extend();
  bool Wants(const Labels& labels) const;
  // Returns the columns that may be selected, in ascending order. Returns all columns if the schema
  // is not in the pool.
  std::vector<uint32_t> Candidates(const Schema& schema) const;

  const std::vector<Selector> selectors_;
  std::vector<std::string_view>
      names_;  // metric name per selector; empty if a selector has no name
  const size_t limit_;
  const SchemaPool* const pool_;
  const std::string job_;
  std::vector<SeriesDescriptor> all_;
  struct ByLabels {
    using is_transparent = void;
    const std::vector<SeriesDescriptor>* all;
    const Labels& of(uint32_t series) const { return (*all)[series].labels; }
    const Labels& of(const Labels& labels) const { return labels; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return of(a) == of(b);
    }
    template <typename T>
    size_t operator()(const T& one) const {
      return absl::Hash<Labels>()(of(one));
    }
  };
  // Indexes into all_, hashed by their labels.
  absl::flat_hash_set<uint32_t, ByLabels, ByLabels> index_{0, ByLabels{&all_}, ByLabels{&all_}};
  absl::flat_hash_map<uint64_t, std::shared_ptr<const WantedColumns>> schemas_;  // by schema ID
  // Known series of the job. Null if all series are in all_, index_, and schemas_.
  std::shared_ptr<const KnownSeries> known_;
  bool two_kinds_ = false;
};

}  // namespace pitwall::history
