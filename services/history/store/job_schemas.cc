#include "services/history/store/job_schemas.h"

#include <algorithm>
#include <utility>

#include "services/codec/schema_binary.h"
#include "services/history/store/catalogue.h"
#include "services/model/value.h"

namespace pitwall::history {

void JobSchemas::Restore(SharedSchema schema) {
  NoteSteps(*schema);
  schemas_.insert_or_assign(schema->id, schema);
}

bool JobSchemas::Add(const SharedSchema& schema) {
  const auto [known, added] = schemas_.try_emplace(schema->id, schema);
  // The object from the batches replaces the equal object that was restored from the catalog, so
  // that only one copy stays in memory.
  if (!added && &*known->second != &*schema && known->second->series == schema->series)
    known->second = schema;
  if (!added) return false;
  NoteSteps(*schema);
  new_.push_back(schema->id);
  return true;
}

const SharedSchema* JobSchemas::Find(uint64_t id) const {
  const auto at = schemas_.find(id);
  return at == schemas_.end() ? nullptr : &at->second;
}

void JobSchemas::NoteSteps(const Schema& schema) {
  const auto at = std::ranges::find_if(schema.series, [](const SeriesDescriptor& series) {
    return series.labels.Name() == "train_step_duration_seconds";
  });
  if (at != schema.series.end())
    step_columns_[schema.id] = static_cast<size_t>(at - schema.series.begin());
}

// A rank keeps reporting its state and its current step, even during a hang. Therefore, a step ends
// at the row that contains its duration. If the job has no durations, every row with a step ends a
// step.
bool JobSchemas::EndsStep(const Frame& frame, size_t row) const {
  if (frame.steps[row] == kNoStep) return false;
  if (step_columns_.empty()) return true;
  const auto column = step_columns_.find(frame.schema_id);
  if (column == step_columns_.end()) return false;
  const size_t columns = frame.values.size() / frame.times.size();
  return !IsMissing(frame.values[row * columns + column->second]);
}

void JobSchemas::Collect(const std::string& job, store::DatabaseChange* change) const {
  for (const uint64_t schema : new_) {
    StatusOr<store::DatabaseRow> packed = PackedSchemaRow(job, *schemas_.at(schema));
    if (packed.ok()) {
      change->put.push_back(*std::move(packed));
      continue;
    }
    BinaryWriter body;  // zstd is out of memory
    codec::SaveSchema(*schemas_.at(schema), body);
    change->put.push_back({kSchemaRow, job, NumberKey(schema), body.Take()});
  }
}

void DerivedRows::AddTo(MemTable* head, const OriginPtr& origin, const Schema& schema,
                        const Frame& frame, size_t from, size_t to, uint64_t sequence) {
  const auto [at, added] = means_.try_emplace(schema.id);
  if (added) at->second = NodeMeans::Of(schema);
  if (at->second == nullptr) return;
  const NodeMeans& means = *at->second;
  const size_t columns = schema.series.size();
  cells_.clear();
  for (size_t row = from; row < to; ++row)
    means.Append(frame.values.subspan(row * columns, columns), &cells_);
  Frame made;
  made.schema_id = means.schema()->id;
  made.times = frame.times.subspan(from, to - from);
  made.values = cells_;
  head->AddRows(origin, means.schema(), made, 0, to - from, sequence);
}

}  // namespace pitwall::history
