#include "services/engine/clocks/row_writer.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "services/base/check.h"

namespace pitwall::engine {

void RowWriter::Bind(const Schema& schema, ClockDomain* domain, BoundColumns* columns) {
  columns->Release();
  columns->ids.clear();
  window::SeriesStore& store = *domain->store();
  for (const SeriesDescriptor& series : schema.series) {
    auto id = store.Intern(series.labels);
    limits_->CountSeries(id.status());
    columns->ids.push_back(id.ok() ? *id : window::SeriesStore::kUnwanted);
  }
  auto plan = store.Plan(columns->ids);
  PITWALL_CHECK(plan.ok());  // All IDs come from this store.
  columns->plan = *plan;
  columns->store = domain->store();
  columns->generation = generation_;
}

const BoundColumns& RowWriter::TimeColumns(Binding* binding) {
  if (binding->time.generation != generation_)
    Bind(binding->schema, domains_->time(), &binding->time);
  return binding->time;
}

const BoundColumns& RowWriter::StepColumns(Binding* binding, ClockDomain* domain) {
  std::unique_ptr<BoundColumns>& columns = binding->steps[domain->clock().mode];
  if (columns == nullptr) columns = std::make_unique<BoundColumns>();
  if (columns->generation != generation_ || columns->clock != domain->id().clock) {
    Bind(binding->schema, domain, columns.get());
    columns->clock = domain->id().clock;
  }
  return *columns;
}

void RowWriter::WriteRow(const RowRef& row) {
  Source* source = row.source;
  PendingFrame* frame = row.frame;
  Binding* binding = frame->binding.get();
  auto [stream, first] = source->streams.try_emplace(binding->schema.stream, binding->schema.id);
  if (!first && stream->second != binding->schema.id) {
    const auto before = source->schemas.find(stream->second);
    stream->second = binding->schema.id;
    if (before != source->schemas.end()) EndVanished(row, before->second.get());
  }
  ClockDomain* time = domains_->time();
  if (time == nullptr) return;
  const std::span<const double> values = row.values();
  const window::RowKey key{PositionOf(row.time), source->id, source->boot, frame->sequence,
                           static_cast<uint32_t>(row.row)};
  limits_->CountSamples(time->store()->Append(key, TimeColumns(binding).plan, values),
                        values.size());
}

void RowWriter::EndVanished(const RowRef& row, Binding* before) {
  ClockDomain* time = domains_->time();
  if (time == nullptr) return;
  std::vector<window::SeriesId> kept = TimeColumns(row.frame->binding.get()).ids;
  std::sort(kept.begin(), kept.end());
  std::vector<window::SeriesId> vanished;
  for (const window::SeriesId id : TimeColumns(before).ids) {
    if (!std::binary_search(kept.begin(), kept.end(), id)) vanished.push_back(id);
  }
  if (vanished.empty()) return;
  limits_->CountSamples(
      time->store()->AppendStale({PositionOf(row.time), row.source->id, row.source->boot,
                                  row.frame->sequence, row.frame->index},
                                 vanished),
      vanished.size());
}

void RowWriter::WriteStepRow(const RowRef& row, Step step, ClockDomain* domain) {
  const std::span<const double> values = row.values();
  const window::RowKey key{PositionOf(step), row.source->id, row.source->boot, row.frame->sequence,
                           static_cast<uint32_t>(row.row)};
  limits_->CountSamples(
      domain->store()->Append(key, StepColumns(row.frame->binding.get(), domain).plan, values),
      values.size(), "steps without promises (ranks log steps but do not promise them)");
}

void RowWriter::WriteSample(ClockDomain* domain, Position position, const Labels& labels,
                            double value) {
  if (domain == nullptr) return;
  const auto id = domain->store()->Intern(labels);
  limits_->CountSeries(id.status());
  if (!id.ok()) return;
  const window::SeriesId ids[] = {*id};
  const double values[] = {value};
  limits_->CountSamples(domain->store()->Append({position, kOwnSource, "", 0, 0}, ids, values), 1);
}

void RowWriter::WriteOwnRow(ClockDomain* domain, Position position, const Schema& schema,
                            BoundColumns* columns, std::span<const double> values) {
  if (columns->generation != generation_) Bind(schema, domain, columns);
  limits_->CountSamples(
      domain->store()->Append({position, kOwnSource, "", 0, 1}, columns->plan, values),
      values.size());
}

void RowWriter::MarkStale(const Source& source, EventTime at) {
  if (ClockDomain* time = domains_->time(); time != nullptr) {
    for (const auto& [stream, schema_id] : source.streams) {
      const auto found = source.schemas.find(schema_id);
      if (found == source.schemas.end()) continue;
      const window::RowKey key{PositionOf(at), source.id, source.boot, UINT64_MAX, stream};
      const auto& ids = TimeColumns(found->second.get()).ids;
      limits_->CountSamples(time->store()->AppendStale(key, ids), ids.size());
    }
  }
  for (const auto& [mode, progress] : source.steps) MarkStepsStale(source, mode);
}

void RowWriter::MarkStepsStale(const Source& source, const std::string& mode) {
  const StepProgress& progress = source.steps.at(mode);
  ClockDomain* domain = domains_->steps().Find(mode, progress.clock);
  if (domain == nullptr || progress.last == Step::None()) return;
  const Position position =
      std::max(PositionOf(progress.last + 1), domain->ticks().watermark().Next());
  for (const auto& [stream, schema_id] : source.streams) {
    const auto found = source.schemas.find(schema_id);
    if (found == source.schemas.end() || !found->second->steps.contains(mode)) continue;
    const auto& ids = StepColumns(found->second.get(), domain).ids;
    limits_->CountSamples(
        domain->store()->AppendStale({position, source.id, source.boot, UINT64_MAX, stream}, ids),
        ids.size());
  }
}

}  // namespace pitwall::engine
