#include "services/engine/job/source_liveness.h"

#include <algorithm>

namespace pitwall::engine {

int64_t SourceLiveness::OnBatch(Source* source, bool goodbye) {
  source->goodbye = source->goodbye || goodbye;
  if (source->clock.behind &&
      sources_->order().NewestPromise() - source->promise <= options_.liveness.clock_behind_ns) {
    source->clock.behind = false;
    source->clock.trailing_ns = 0;
    Flag(*source, "clock_behind", false);
  }
  sources_->Change(source, [](Source* s) {
    s->live = s->promise != kMinPosition && !s->clock.behind && s->promise < s->ended_at;
  });
  const int64_t least = sources_->order().LeastPromise();
  if (source->goodbye) Leave(source, TimelineEvent::Kind::kGoodbye);
  if (source->process.loss_reported) sources_->Change(source, [](Source* s) { s->live = false; });
  return least;
}

void SourceLiveness::OnTick(int64_t elapsed_ns, EventSink* out) {
  const int64_t newest = sources_->order().NewestPromise();
  for (const auto& [key, entry] : sources_->all()) {
    Source* source = entry.get();
    if (!source->waiting.empty()) {
      sources_->Change(source, [&](Source* s) { frames_->DropWaiting(elapsed_ns, s, out); });
    }
    if (source->Tick(elapsed_ns, options_)) {
      Leave(source, TimelineEvent::Kind::kLeave);
      continue;
    }
    if (!source->live) continue;
    source->clock.trailing_ns = newest - source->promise > options_.liveness.clock_behind_ns
                                    ? source->clock.trailing_ns + elapsed_ns
                                    : 0;
    if (source->clock.trailing_ns >= options_.liveness.clock_behind_ns) {
      source->clock.behind = true;
      Leave(source, TimelineEvent::Kind::kLeave);
      Flag(*source, "clock_behind", true);
    }
  }
}

void SourceLiveness::Leave(Source* source, TimelineEvent::Kind kind) {
  sources_->Change(source, [](Source* s) { s->live = false; });
  const int64_t last = std::max(source->promise, source->newest_sample);
  if (last == kMinPosition) return;
  schedule_->Add(last + 1, Phase::kEnd, *source, source->window.highest(), UINT32_MAX,
                 {.kind = kind});
}

}  // namespace pitwall::engine
