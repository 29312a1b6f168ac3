#include "services/engine/sources/watermark_index.h"

#include <algorithm>
#include <tuple>

namespace pitwall::engine {

void WatermarkIndex::Move(Keys<EventTime>* keys, Source* source, EventTime* place, EventTime to) {
  if (*place == to) return;
  if (*place != kNowhere) keys->erase({*place, source});
  if (to != kNowhere) keys->insert({to, source});
  *place = to;
}

void WatermarkIndex::Update(Source* source) {
  Places& places = places_[source];
  Move(&promises_, source, &places.promise, source->live ? source->EffectivePromise() : kNowhere);
  Move(&blocked_, source, &places.blocked,
       source->live && !source->waiting.empty() ? source->promise : kNowhere);
  EventTime first = kNowhere;
  for (const PendingFrame& frame : source->pending) {
    if (frame.next < frame.times.size()) first = std::min(first, frame.times[frame.next]);
  }
  Move(&rows_, source, &places.rows, first);
}

void WatermarkIndex::RemoveSteps(Source* source, Places* places) {
  for (const auto& [clock, step] : places->steps) {
    const auto keys = step_promises_.find(clock);
    keys->second.erase({step, source});
    if (keys->second.empty()) step_promises_.erase(keys);
  }
  places->steps.clear();
}

namespace {

bool HoldsClock(const StepProgress& progress) {
  return progress.announced && progress.clock != kNoClock;
}

}  // namespace

void WatermarkIndex::UpdateSteps(Source* source) {
  Places& places = places_[source];
  if (source->step_live && MoveSteps(source, &places)) return;
  RemoveSteps(source, &places);
  if (!source->step_live) return;
  for (const auto& [mode, progress] : source->steps) {
    if (!HoldsClock(progress)) continue;
    places.steps.push_back({{mode, progress.clock}, progress.promise});
    step_promises_[places.steps.back().clock].insert({progress.promise, source});
  }
}

// Fast path for a batch from a running rank: modes and clocks are unchanged, and only a few
// promises increase. If modes or clocks have changed, returns false and updates nothing.
bool WatermarkIndex::MoveSteps(Source* source, Places* places) {
  auto place = places->steps.begin();
  for (const auto& [mode, progress] : source->steps) {
    if (!HoldsClock(progress)) continue;
    if (place == places->steps.end() || place->clock.second != progress.clock ||
        place->clock.first != mode)
      return false;
    ++place;
  }
  if (place != places->steps.end()) return false;
  place = places->steps.begin();
  for (const auto& [mode, progress] : source->steps) {
    if (!HoldsClock(progress)) continue;
    if (place->promise != progress.promise) {
      Keys<Step>& keys = step_promises_.find(place->clock)->second;
      keys.erase({place->promise, source});
      keys.insert({progress.promise, source});
      place->promise = progress.promise;
    }
    ++place;
  }
  return true;
}

void WatermarkIndex::Remove(Source* source) {
  const auto found = places_.find(source);
  if (found == places_.end()) return;
  Move(&promises_, source, &found->second.promise, kNowhere);
  Move(&blocked_, source, &found->second.blocked, kNowhere);
  Move(&rows_, source, &found->second.rows, kNowhere);
  RemoveSteps(source, &found->second);
  places_.erase(found);
}

void WatermarkIndex::Clear() {
  places_.clear();
  promises_.clear();
  blocked_.clear();
  rows_.clear();
  step_promises_.clear();
}

EventTime WatermarkIndex::LeastPromise() const {
  return promises_.empty() ? EventTime::Earliest() : promises_.begin()->first;
}

EventTime WatermarkIndex::NewestPromise() const {
  EventTime newest = promises_.empty() ? EventTime::Earliest() : promises_.rbegin()->first;
  if (!blocked_.empty()) newest = std::max(newest, blocked_.rbegin()->first);
  return newest;
}

const WatermarkIndex::Keys<Step>* WatermarkIndex::StepKeys(std::string_view mode,
                                                           uint32_t clock) const {
  const auto keys = step_promises_.find(ModeClock(mode, clock));
  return keys == step_promises_.end() ? nullptr : &keys->second;
}

Step WatermarkIndex::LeastStepPromise(std::string_view mode, uint32_t clock) const {
  const Keys<Step>* keys = StepKeys(mode, clock);
  return keys == nullptr ? kNoPromise : keys->begin()->first;
}

Step WatermarkIndex::GreatestStepPromise(std::string_view mode, uint32_t clock) const {
  const Keys<Step>* keys = StepKeys(mode, clock);
  return keys == nullptr ? Step::None() : keys->rbegin()->first;
}

const Source* WatermarkIndex::AnySlowest(std::string_view mode, uint32_t clock) const {
  const Keys<Step>* keys = StepKeys(mode, clock);
  return keys == nullptr ? nullptr : keys->begin()->second;
}

std::vector<Source*> WatermarkIndex::Slowest(std::string_view mode, uint32_t clock) const {
  std::vector<Source*> slowest;
  const Keys<Step>* keys = StepKeys(mode, clock);
  if (keys == nullptr) return slowest;
  for (auto it = keys->begin(); it != keys->end() && it->first == keys->begin()->first; ++it)
    slowest.push_back(it->second);
  std::sort(slowest.begin(), slowest.end(), [](const Source* a, const Source* b) {
    return std::tie(a->id, a->boot) < std::tie(b->id, b->boot);
  });
  return slowest;
}

std::vector<Source*> WatermarkIndex::WithRowsUpTo(EventTime to) const {
  std::vector<Source*> sources;
  for (auto it = rows_.begin(); it != rows_.end() && it->first <= to; ++it)
    sources.push_back(it->second);
  return sources;
}

}  // namespace pitwall::engine
