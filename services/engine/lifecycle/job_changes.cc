#include "services/engine/lifecycle/job_changes.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::engine {

IssueEvent* JobChanges::Emit(JobChange change, EndDetail detail, EventTime at, uint64_t attempt,
                             EventSink* out) {
  if (!started_emitted_) {
    started_emitted_ = true;
    if (change != JobChange::kStarted) Emit(JobChange::kStarted, EndDetail::kNone, at, 0, out);
  }
  IssueEvent event;
  event.type = EventType::kJobChanged;
  event.job = job_->id;
  event.job_name = job_->name;
  event.reference = job_->reference;
  event.owner = job_->owner;
  event.attempt = attempt;
  event.time = event.active_since = at;
  event.job_change = change;
  event.end_detail = detail;
  if (detail == EndDetail::kStopped && !failures_->stop().by().empty())
    event.summary = Cat("stopped by ", failures_->stop().by());
  event.sequence = ++changes_emitted_;
  event.id = MakeEventId(event);
  ++counters_->events;
  out->events.push_back(std::move(event));
  return &out->events.back();
}

void JobChanges::EmitStarted(EventTime at, uint64_t attempt, EventSink* out) {
  if (!started_emitted_) Emit(JobChange::kStarted, EndDetail::kNone, at, attempt, out);
}

}  // namespace pitwall::engine
