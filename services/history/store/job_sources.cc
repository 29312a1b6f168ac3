#include "services/history/store/job_sources.h"

namespace pitwall::history {

void JobSources::Restore(SourceMeta boot) {
  const OriginKey key = {boot.origin->source, boot.origin->boot};
  boots_.insert_or_assign(key, std::move(boot));
}

const SourceMeta& JobSources::RestoreSeen(const SourceMeta& boot) {
  const auto [at, added] = boots_.try_emplace({boot.origin->source, boot.origin->boot}, boot);
  at->second.first_ns = std::min(at->second.first_ns, boot.first_ns);
  at->second.last_ns = std::max(at->second.last_ns, boot.last_ns);
  return at->second;
}

SourceState* JobSources::StateOf(const Batch& batch) {
  const auto known = states_.find(ByNames::Names(batch.source, batch.boot_id));
  if (known != states_.end()) return known->second.get();
  const auto [at, added] = boots_.try_emplace({batch.source, batch.boot_id});
  SourceMeta& boot = at->second;
  if (added) {
    boot.origin = std::make_shared<const Origin>(
        Origin{batch.source, batch.boot_id, batch.info.node, batch.info.rank, batch.info.kind});
    boot.start_ns = batch.info.start.ns();
  }
  std::unique_ptr<SourceState>& state = states_[at->first];
  state = std::make_unique<SourceState>(&at->first, &boot);
  return state.get();
}

SourceState* JobSources::Describe(const Batch& batch) {
  SourceState* const state = StateOf(batch);
  if (!state->dirty_) dirty_.push_back(state);
  state->dirty_ = true;
  SourceMeta& boot = state->boot_;
  boot.goodbye |= batch.goodbye;
  if (batch.goodbye) boot.goodbye_ns = std::max(boot.goodbye_ns, batch.promise.ns());
  if (batch.sequence >= boot.sequence) {
    boot.sequence = batch.sequence;
    boot.interval_ns = batch.info.interval.ns();
    if (!batch.owner.empty()) boot.owner = batch.owner;
  }
  for (const JobEvent& event : batch.events) {
    if (event.kind != JobEvent::Kind::kStarted) continue;
    if (!event.name.empty()) boot.job_name = event.name;
    if (event.reference != JobReference()) boot.reference = event.reference;
  }
  return state;
}

void JobSources::Collect(const std::string& job, store::DatabaseChange* change) const {
  for (const SourceState* state : dirty_) {
    const SourceMeta& boot = state->boot_;
    change->put.push_back({kBootRow, job, BootKey(*boot.origin), EncodeBoot(boot)});
  }
}

void JobSources::MarkSaved() {
  for (SourceState* state : dirty_) state->dirty_ = false;
  dirty_.clear();
}

void JobSources::FillSources(JobOverview* life) const {
  std::map<std::string, int64_t> newest_start;
  for (const auto& [key, boot] : boots_) {
    if (life->name.empty()) life->name = boot.job_name;
    if (life->owner.empty()) life->owner = boot.owner;
    if (life->reference == JobReference()) life->reference = boot.reference;
    SourceLife& source = life->sources[boot.origin->source];
    source.source = boot.origin->source;
    const auto [start, first] = newest_start.try_emplace(source.source, boot.start_ns);
    if (first || boot.start_ns >= start->second) {
      start->second = boot.start_ns;
      source.node = boot.origin->node;
      source.rank = boot.origin->rank;
      source.interval_ns = boot.interval_ns;
      source.goodbye = boot.goodbye;
      source.goodbye_ns = boot.goodbye_ns;
    }
    if (boot.first_ns > boot.last_ns) continue;
    source.first_ns =
        source.first_ns == 0 ? boot.first_ns : std::min(source.first_ns, boot.first_ns);
    source.last_ns = std::max(source.last_ns, boot.last_ns);
    life->first_ns = life->first_ns == 0 ? boot.first_ns : std::min(life->first_ns, boot.first_ns);
    life->last_ns = std::max(life->last_ns, boot.last_ns);
  }
}

void JobSources::FillSteps(JobOverview* life) const {
  for (const auto& [key, boot] : boots_) {
    if (boot.first_step_ns == INT64_MAX) continue;
    // If the first step is still running, only the start of the step is known.
    const int64_t last_step_ns = std::max(boot.first_step_ns, boot.last_step_ns);
    AttemptLife* attempt = nullptr;
    for (AttemptLife& a : life->attempts) {
      if (attempt == nullptr || a.began_ns <= last_step_ns) attempt = &a;
    }
    if (attempt == nullptr) continue;
    attempt->first_step_ns = attempt->first_step_ns == 0
                                 ? boot.first_step_ns
                                 : std::min(attempt->first_step_ns, boot.first_step_ns);
    attempt->last_step_ns = std::max(attempt->last_step_ns, last_step_ns);
  }
}

}  // namespace pitwall::history
