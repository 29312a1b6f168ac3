#include "services/engine/clocks/step_placement.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall::engine {

namespace {

constexpr size_t kRanksNamed = 8;

// Returns text such as "rank 1" or "ranks 1, 4, 5" that names at most kRanksNamed ranks. `ranks`
// must be in ascending order.
std::string RanksText(const std::vector<int64_t>& ranks) {
  if (ranks.empty()) return "";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < kRanksNamed; ++i)
    CatTo(text, i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kRanksNamed) CatTo(text, ", and ", ranks.size() - kRanksNamed, " more");
  return text;
}

}  // namespace

ClockDomain* StepPlacement::ClockOfStep(Source* source, const std::string& mode, Step step,
                                        bool first) {
  const StepProgress& progress = source->steps[mode];
  const Position position = PositionOf(step);
  ClockDomain* shared = domains_->steps().Shared(mode);
  ClockDomain* domain = domains_->steps().Find(mode, progress.clock);
  if (first && position > shared->ticks().watermark()) {
    // The rank has caught up. It keeps its clock while an issue on that clock is open, so that the
    // issue stays open.
    if (domain == nullptr || (domain != shared && !domain->rules().HasActiveAlerts()))
      domain = shared;
  } else if (first && progress.announced &&
             (domain == nullptr || position <= domain->ticks().watermark())) {
    domain = Separate(mode, position);
  }
  if (domain == nullptr) return nullptr;
  if (domain->id().clock != progress.clock) Move(source, mode, domain->id().clock);
  return position > domain->ticks().watermark() ? domain : nullptr;
}

// Returns a clock that can still evaluate `position`, for ranks that fell behind the shared clock.
// Reuses the clock of ranks that are equally far behind, or creates one.
ClockDomain* StepPlacement::Separate(const std::string& mode, Position position) {
  ClockDomain* shared = domains_->steps().Shared(mode);
  ClockDomain* below = domains_->steps().SeparateBelow(mode, position);
  const StepPace& pace = shared->pace();
  const auto distance = static_cast<int64_t>(pace.patience.Distance(pace.times));
  if (below != nullptr && below->ticks().watermark() != Position::Earliest() &&
      position - below->ticks().watermark() <= distance * kStepLength)
    return below;
  if (ClockDomain* added = domains_->AddSeparate(mode); added != nullptr) return added;
  if (below == nullptr) limits_->NoteSeparateClocks();
  return below;
}

void StepPlacement::Move(Source* source, const std::string& mode, uint32_t clock) {
  StepProgress& progress = source->steps[mode];
  writer_->MarkStepsStale(*source, mode);  // Its series continue on another clock or end.
  const uint32_t before = progress.clock;
  sources_->ChangeSteps(source, [&](Source*) { progress.clock = clock; });
  NoteReached(mode, &progress);
  if (before != kNoClock && before != kSharedClock) RemoveUnused(mode, before);
  NameMissingRanks(mode);
}

void StepPlacement::RemoveUnused(const std::string& mode, uint32_t clock) {
  const auto& all = sources_->all();
  const bool used = std::any_of(all.begin(), all.end(), [&](const auto& entry) {
    const auto at = entry.second->steps.find(mode);
    return at != entry.second->steps.end() && at->second.clock == clock;
  });
  ClockDomain* domain = domains_->steps().Find(mode, clock);
  if (!used && domain != nullptr && !domain->rules().HasActiveAlerts())
    domains_->steps().RemoveSeparate(mode, clock);
}

void StepPlacement::NoteReached(const std::string& mode, StepProgress* progress) const {
  const ClockDomain* domain = domains_->steps().Find(mode, progress->clock);
  if (domain != nullptr) progress->reached = domain->pace().times.count();
}

void StepPlacement::DropLaggards(ClockDomain* domain) {
  const std::string& mode = domain->clock().mode;
  for (;;) {
    const Source* slowest = sources_->order().AnySlowest(mode, domain->id().clock);
    if (slowest == nullptr || !Lags(*slowest, domain)) return;
    const std::vector<Source*> all = sources_->order().Slowest(mode, domain->id().clock);
    // If any of these ranks is not lagging, the clock must wait for that rank's promise.
    if (!std::all_of(all.begin(), all.end(),
                     [&](const Source* source) { return Lags(*source, domain); }))
      return;
    for (Source* source : all) Move(source, mode, kNoClock);
  }
}

bool StepPlacement::Lags(const Source& source, ClockDomain* domain) const {
  const std::string& mode = domain->clock().mode;
  const StepProgress& progress = source.steps.at(mode);
  if (sources_->order().GreatestStepPromise(mode, domain->id().clock) == progress.promise)
    return false;
  const StepTimes& times = domain->pace().times;
  const StepPatience& patience = domain->pace().patience;
  const uint64_t silent = times.count() - std::min(times.count(), progress.reached);
  const uint64_t behind = times.CountAfter(progress.promise);
  if (silent < StepPatience::kFewest && behind < 2 * StepPatience::kFewest) return false;
  return silent >= patience.Steps(times) || behind >= patience.Distance(times);
}

void StepPlacement::ReturnAll(const std::string& mode) {
  domains_->steps().RemoveAllSeparate(mode);
  for (const auto& [key, source] : sources_->all()) {
    const auto progress = source->steps.find(mode);
    if (progress == source->steps.end()) continue;
    sources_->ChangeSteps(source.get(), [&](Source*) { progress->second.clock = kSharedClock; });
  }
  NameMissingRanks(mode);
}

void StepPlacement::ReturnAll() {
  domains_->steps().RemoveAllSeparate();
  for (const auto& [key, source] : sources_->all()) {
    sources_->ChangeSteps(source.get(), [](Source* s) {
      for (auto& [mode, progress] : s->steps) progress.clock = kSharedClock;
    });
  }
  for (const auto& domain : domains_->steps()) domain->evaluator().SetMissingRanks("");
}

void StepPlacement::OnRankLeft(const Source& source) {
  for (const auto& [mode, progress] : source.steps) {
    if (progress.clock != kSharedClock) NameMissingRanks(mode);
  }
}

void StepPlacement::NameMissingRanks(const std::string& mode) {
  ClockDomain* shared = domains_->steps().Shared(mode);
  if (shared == nullptr) return;
  std::vector<int64_t> ranks;
  for (const auto& [key, source] : sources_->all()) {
    const auto progress = source->steps.find(mode);
    if (source->process.running && progress != source->steps.end() &&
        progress->second.clock != kSharedClock)
      ranks.push_back(source->info.rank);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  shared->evaluator().SetMissingRanks(RanksText(ranks));
}

}  // namespace pitwall::engine
