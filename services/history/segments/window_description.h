// Description of a sealed window: its facts, and the modes, origins, and schemas that its tables
// refer to.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/history/segments/segment_meta.h"
#include "services/history/segments/segment_tables.h"
#include "services/history/windows/schema_pool.h"
#include "services/history/windows/sequence_ranges.h"
#include "services/history/windows/span_list.h"
#include "services/history/windows/window_rows.h"

namespace pitwall::history {

// Reads the sequence numbers of the batches in the segment, by source.
StatusOr<std::map<OriginKey, SequenceRanges>> ReadSeenBatches(const SegmentTables& tables);

// Description of one sealed window. Thread-safe after Read.
class WindowDescription {
 public:
  // `tables` must outlive the description.
  explicit WindowDescription(SegmentTables* tables) : tables_(*tables) {}

  // Reads the description of an open segment. If `catalog` is null, it also reads the page
  // locations that the catalog normally provides. `pool` may be null. Returns DataLoss if the
  // description is malformed.
  Status Read(const SegmentMeta* catalog, SchemaPool* pool);

  const SegmentMeta& facts() const { return facts_; }
  const ModeNames& modes() const { return modes_; }
  const std::vector<OriginPtr>& origins() const { return origins_; }
  const std::vector<SharedSchema>& schemas() const { return schemas_; }
  size_t bytes() const;  // memory used, excluding schemas
  // Returns the origin for a number read from a table, or DataLoss if the number is unknown.
  StatusOr<const OriginPtr*> OriginAt(int64_t index) const;
  // Returns DataLoss if any mode number is unknown.
  Status CheckModes(std::span<const int64_t> modes) const;

 private:
  Status ReadPageFacts();
  Status CheckPlaces(const std::vector<SegmentTables::Place>& places) const;

  SegmentTables& tables_;
  SegmentMeta facts_;
  ModeNames modes_;
  std::vector<OriginPtr> origins_;
  std::vector<SharedSchema> schemas_;
};

}  // namespace pitwall::history
