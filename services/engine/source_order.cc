#include "services/engine/source_order.h"

#include <algorithm>

namespace pitwall::engine {

void SourceOrder::Move(Keys* keys, Source* source, int64_t* place, int64_t to) {
  if (*place == to) return;
  if (*place != kMaxPosition) keys->erase({*place, source});
  if (to != kMaxPosition) keys->insert({to, source});
  *place = to;
}

void SourceOrder::Update(Source* source) {
  Places& places = places_[source];
  Move(&promises_, source, &places.promise,
       source->live ? source->EffectivePromise() : kMaxPosition);
  Move(&said_, source, &places.said,
       source->live && !source->waiting.empty() ? source->promise : kMaxPosition);
  int64_t first = kMaxPosition;
  for (const PendingFrame& frame : source->pending) {
    if (frame.next < frame.times.size()) first = std::min(first, frame.times[frame.next]);
  }
  Move(&rows_, source, &places.rows, first);
}

void SourceOrder::RemoveSteps(Source* source, Places* places) {
  for (const auto& [mode, step] : places->steps) {
    const auto keys = step_promises_.find(mode);
    keys->second.erase({step, source});
    if (keys->second.empty()) step_promises_.erase(keys);
  }
  places->steps.clear();
}

void SourceOrder::UpdateSteps(Source* source) {
  Places& places = places_[source];
  const auto same_modes = [&] {
    return std::equal(places.steps.begin(), places.steps.end(), source->step_promises.begin(),
                      source->step_promises.end(),
                      [](const auto& place, const auto& now) { return place.first == now.first; });
  };
  if (source->step_live && same_modes()) {
    // What a batch of a running rank does: its modes stay, and at most one promise grows.
    auto place = places.steps.begin();
    for (const auto& [mode, step] : source->step_promises) {
      int64_t& at = (place++)->second;
      if (at != step) Move(&step_promises_.find(mode)->second, source, &at, step);
    }
    return;
  }
  RemoveSteps(source, &places);
  if (!source->step_live) return;
  for (const auto& [mode, step] : source->step_promises) {
    places.steps.emplace_back(mode, step);
    step_promises_[mode].insert({step, source});
  }
}

void SourceOrder::Remove(Source* source) {
  const auto found = places_.find(source);
  if (found == places_.end()) return;
  Move(&promises_, source, &found->second.promise, kMaxPosition);
  Move(&said_, source, &found->second.said, kMaxPosition);
  Move(&rows_, source, &found->second.rows, kMaxPosition);
  RemoveSteps(source, &found->second);
  places_.erase(found);
}

void SourceOrder::Clear() {
  places_.clear();
  promises_.clear();
  said_.clear();
  rows_.clear();
  step_promises_.clear();
}

int64_t SourceOrder::LeastPromise() const {
  return promises_.empty() ? kMinPosition : promises_.begin()->first;
}

int64_t SourceOrder::NewestPromise() const {
  int64_t newest = promises_.empty() ? kMinPosition : promises_.rbegin()->first;
  if (!said_.empty()) newest = std::max(newest, said_.rbegin()->first);
  return newest;
}

int64_t SourceOrder::LeastStepPromise(std::string_view mode) const {
  const auto keys = step_promises_.find(mode);
  return keys == step_promises_.end() ? kMaxPosition : keys->second.begin()->first;
}

std::vector<Source*> SourceOrder::WithRowsUpTo(int64_t to) const {
  std::vector<Source*> sources;
  for (auto it = rows_.begin(); it != rows_.end() && it->first <= to; ++it)
    sources.push_back(it->second);
  return sources;
}

}  // namespace pitwall::engine
