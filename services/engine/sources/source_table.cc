#include "services/engine/sources/source_table.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::engine {

SourceTable::SourceTable(const EngineOptions& options, LimitReport* limits)
    : options_(options), limits_(limits), memory_(options.max_job_bytes / 2) {}

Source* SourceTable::Find(const std::string& id, const std::string& boot) const {
  const auto found = sources_.find({id, boot});
  return found == sources_.end() ? nullptr : found->second.get();
}

SourceTable::Added SourceTable::FindOrAdd(const Batch& batch) {
  const SourceMap::key_type key(batch.source, batch.boot_id);
  if (const auto it = sources_.find(key); it != sources_.end()) return {it->second.get(), false};
  if (sources_.size() >= options_.max_sources_per_job) {
    limits_->CountSource();
    return {};
  }
  auto source = std::make_unique<Source>();
  source->id = batch.source;
  source->boot = batch.boot_id;
  source->info = batch.info;
  if (!memory_.Take(PendingKind::kSources, HeldBytes(*source))) {
    limits_->CountPending(1, memory_.limit(), memory_.largest_name());
    return {};
  }
  Source* added = source.get();
  sources_.emplace(key, std::move(source));
  rank_boots_.Add(added);
  return {added, true};
}

bool SourceTable::ReportLoss(const Source& reporter, const RankLost& lost) {
  Source* source = Find(lost.source, lost.boot_id);
  if (source == nullptr || !source->IsRank()) return false;
  if (source != &reporter && source->info.node != reporter.info.node) return false;
  Change(source, [](Source* s) {
    s->process.loss_reported = true;
    s->live = false;
  });
  return true;
}

void SourceTable::End(Source* source, EventTime at) {
  Change(source, [at](Source* s) {
    s->ended_at = at;
    if (s->promise >= at) s->live = false;
  });
  ChangeSteps(source, [](Source* s) {
    s->step_live = false;
    for (auto& [mode, progress] : s->steps) {
      progress.announced = false;
      progress.promise = Step::None();
    }
  });
}

std::vector<Source*> SourceTable::Expired() const {
  std::vector<Source*> ended;  // Boots of one source.
  std::vector<Source*> expired;
  const auto expire_boots = [&] {
    if (ended.size() > options_.source.max_ended_boots) {
      std::sort(ended.begin(), ended.end(), [](const Source* a, const Source* b) {
        return std::pair(a->start(), std::string_view(a->boot)) >
               std::pair(b->start(), std::string_view(b->boot));
      });
      for (size_t i = options_.source.max_ended_boots; i < ended.size(); ++i)
        expired.push_back(ended[i]);
    }
    ended.clear();
  };
  for (const auto& [key, source] : sources_) {
    if (!ended.empty() && ended.back()->id != source->id) expire_boots();
    if (source->live || !source->pending.empty() || !source->waiting.empty()) continue;
    if (source->silence.idle > options_.ends.silence) {
      expired.push_back(source.get());
    } else if (source->goodbye || source->ended_at != EventTime::Latest()) {
      ended.push_back(source.get());
    }
  }
  expire_boots();
  return expired;
}

void SourceTable::Remove(Source* source) {
  order_.Remove(source);
  rank_boots_.Remove(source);
  memory_.Give(PendingKind::kSources, HeldBytes(*source));
  for (const auto& [id, binding] : source->schemas)
    memory_.Give(PendingKind::kSchemas, HeldBytes(binding->schema));
  sources_.erase(SourceMap::key_type(source->id, source->boot));
}

void SourceTable::Clear() {
  order_.Clear();
  rank_boots_.Clear();
  sources_.clear();
  memory_.Clear();
}

size_t SourceTable::CountLive() const {
  return static_cast<size_t>(std::count_if(sources_.begin(), sources_.end(),
                                           [](const auto& entry) { return entry.second->live; }));
}

void SourceTable::Save(BinaryWriter& out) const {
  out.U64(sources_.size());
  for (const auto& [key, source] : sources_) source->Save(out);
}

Status SourceTable::Restore(BinaryReader& in, uint32_t format) {
  for (size_t n = in.Count(8); n > 0; --n) {
    auto source = std::make_unique<Source>();
    RETURN_IF_ERROR(source->Restore(in, format));
    SourceMap::key_type key(source->id, source->boot);
    Source* restored = source.get();
    if (!sources_.emplace(key, std::move(source)).second)
      return DataLoss(Cat("snapshot: source ", Quote(key.first), " appears twice"));
    rank_boots_.Add(restored);
    CountRestored(*restored);
    order_.Update(restored);
    order_.UpdateSteps(restored);
  }
  return OkStatus();
}

void SourceTable::CountRestored(const Source& source) {
  memory_.Force(PendingKind::kSources, HeldBytes(source));
  for (const auto& [id, binding] : source.schemas)
    memory_.Force(PendingKind::kSchemas, HeldBytes(binding->schema));
  for (const auto* frames : {&source.pending, &source.waiting}) {
    for (const PendingFrame& frame : *frames)
      memory_.Force(PendingKind::kSamples, HeldBytes(frame));
  }
}

}  // namespace pitwall::engine
