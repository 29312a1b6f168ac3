#include "services/engine/job/source_liveness.h"

#include <algorithm>

namespace pitwall::engine {

EventTime SourceLiveness::OnBatch(Source* source, bool goodbye) {
  source->goodbye = source->goodbye || goodbye;
  if (source->clock.behind &&
      sources_->order().NewestPromise() - source->promise <= options_.liveness.clock_behind) {
    source->clock.behind = false;
    source->clock.trailing = Duration::Zero();
    Flag(*source, "clock_behind", false);
  }
  sources_->Change(source, [](Source* s) {
    s->live = s->promise != EventTime::Earliest() && !s->clock.behind && s->promise < s->ended_at;
  });
  const EventTime least = sources_->order().LeastPromise();
  if (source->goodbye) Leave(source, TimelineEvent::Kind::kGoodbye);
  if (source->process.loss_reported) sources_->Change(source, [](Source* s) { s->live = false; });
  return least;
}

void SourceLiveness::OnTick(Duration elapsed, EventSink* out) {
  const EventTime newest = sources_->order().NewestPromise();
  for (const auto& [key, entry] : sources_->all()) {
    Source* source = entry.get();
    if (!source->waiting.empty()) {
      sources_->Change(source, [&](Source* s) { frames_->DropWaiting(elapsed, s, out); });
    }
    if (source->Tick(elapsed, options_)) {
      Leave(source, TimelineEvent::Kind::kLeave);
      continue;
    }
    if (!source->live) continue;
    source->clock.trailing = newest - source->promise > options_.liveness.clock_behind
                                 ? source->clock.trailing + elapsed
                                 : Duration::Zero();
    if (source->clock.trailing >= options_.liveness.clock_behind) {
      source->clock.behind = true;
      Leave(source, TimelineEvent::Kind::kLeave);
      Flag(*source, "clock_behind", true);
    }
  }
}

void SourceLiveness::Leave(Source* source, TimelineEvent::Kind kind) {
  sources_->Change(source, [](Source* s) { s->live = false; });
  const EventTime last = std::max(source->promise, source->newest_sample);
  if (last == EventTime::Earliest()) return;
  schedule_->Add(last.Next(), Phase::kEnd, *source, source->window.highest(), UINT32_MAX,
                 {.kind = kind});
}

}  // namespace pitwall::engine
