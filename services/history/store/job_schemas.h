// Schemas of one job, and the step ends and derived series that follow from them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/adapters/store/database.h"
#include "services/history/memtable/mem_table.h"
#include "services/history/windows/node_means.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

// Schemas by ID. The threading rules of StoredJob apply.
class JobSchemas {
 public:
  // Restores a schema from the catalog.
  void Restore(SharedSchema schema);
  // Adds the schema of a batch. Returns false if its ID is already known.
  bool Add(const SharedSchema& schema);
  // Returns nullptr if the schema is unknown.
  const SharedSchema* Find(uint64_t id) const;
  // Returns whether the row ends a step.
  bool EndsStep(const Frame& frame, size_t row) const;

  // Returns whether schemas have been added since the last call to MarkSaved.
  bool dirty() const { return !new_.empty(); }
  void Collect(const std::string& job, store::DatabaseChange* change) const;
  void MarkSaved() { new_.clear(); }

 private:
  void NoteSteps(const Schema& schema);

  absl::flat_hash_map<uint64_t, SharedSchema> schemas_;
  // Duration column of each schema that has step durations.
  absl::flat_hash_map<uint64_t, size_t> step_columns_;
  std::vector<uint64_t> new_;
};

// Derived series of a job. Each is computed from the rows of one schema. Not thread-safe.
class DerivedRows {
 public:
  // Adds the derived series for the frame's rows [from, to).
  void AddTo(MemTable* head, const OriginPtr& origin, const Schema& schema, const Frame& frame,
             size_t from, size_t to, uint64_t sequence);

 private:
  // Derived series by schema ID; null if the schema has none.
  absl::flat_hash_map<uint64_t, std::unique_ptr<const NodeMeans>> means_;
  std::vector<double> cells_;  // scratch buffer
};

}  // namespace pitwall::history
