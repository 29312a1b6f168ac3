// Series selected by a query: the columns of each schema that match, resolved once per schema
// instead of once per row.
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

// Columns of a schema that the query selects, and their series.
struct WantedColumns {
  std::vector<uint32_t> columns;  // ascending
  std::vector<uint32_t> series;   // same size: indexes into SeriesSet::all()
};

// All series of a job, as found by an earlier query without selectors; cached for the next one.
struct KnownSeries {
  SeriesTablePtr table;
  absl::flat_hash_map<uint64_t, std::shared_ptr<const WantedColumns>> schemas;  // by schema ID
  size_t bytes() const;
};

// Not thread-safe.
class SeriesSet {
 public:
  // Without selectors: all series. `limit`: maximum number of series. `pool`, if not null, knows
  // schemas of the job, and outlives the set. `known`, if not null: of the same job, for a set
  // without selectors.
  SeriesSet(std::vector<Selector> selectors, size_t limit, const SchemaPool* pool = nullptr,
            std::string_view job = {}, std::shared_ptr<const KnownSeries> known = nullptr);
  SeriesSet(const SeriesSet&) = delete;  // its index refers to it
  SeriesSet& operator=(const SeriesSet&) = delete;
  // ResourceExhausted: too many series.
  StatusOr<const WantedColumns*> Of(const Schema& schema);
  // The same for a schema that was resolved before, or is known. Null: neither.
  const WantedColumns* Known(uint64_t schema) const {
    const auto& schemas = known_ != nullptr ? known_->schemas : schemas_;
    const auto at = schemas.find(schema);
    return at == schemas.end() ? nullptr : at->second.get();
  }
  const std::vector<SeriesDescriptor>& all() const {
    return known_ != nullptr ? known_->table->series : all_;
  }
  // Two schemas disagree on the kind of a series; the first one counts.
  bool two_kinds() const { return two_kinds_; }
  // Indexes into all(), in the order of labels.
  std::vector<uint32_t> InOrder() const;
  // Returns the known series, or all that were found, which empties the set.
  std::shared_ptr<const KnownSeries> Take();

 private:
  // Prepares for a schema that is not among the known ones.
  void Extend();
  bool Wants(const Labels& labels) const;
  // Columns that may be selected, ascending; all if the schema is not in the pool.
  std::vector<uint32_t> Candidates(const Schema& schema) const;

  const std::vector<Selector> selectors_;
  std::vector<std::string_view>
      names_;  // metric name per selector; empty: some selector has no name
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
  std::shared_ptr<const KnownSeries> known_;  // null: everything is in all_, index_, and schemas_
  bool two_kinds_ = false;
};

}  // namespace pitwall::history
