#include "services/engine/job/attempt_starts.h"

namespace pitwall::engine {

void AttemptStarts::OnBoot(Source* source, EventTime at, EventSink* out) {
  source->process.started = true;
  if (!EndEarlierBoots(source, at)) {
    ends_->End(source, at);
  } else if (source->IsRank()) {
    PlaceRank(source, at, out);
  }
  if (attempt_->ranks().Join(source)) lifecycle_->Reopen(*source, at, out);
}

bool AttemptStarts::EndEarlierBoots(Source* source, EventTime at) {
  bool succeeded = false;
  for (Source* other : sources_->OthersOf(*source)) {
    succeeded |= other->process.started && other->start() > source->start();
    if (other->ended_at == EventTime::Latest() && other->start() < source->start())
      ends_->End(other, at);
  }
  return !succeeded;
}

void AttemptStarts::PlaceRank(Source* source, EventTime at, EventSink* out) {
  const JobAttempt::Place place = attempt_->PlaceBoot(*source);
  if (place == JobAttempt::Place::kFollowing) return;
  if (place == JobAttempt::Place::kNext)
    Begin(source->info.attempt.value_or(attempt_->NextNumber()), *source, at, out);
  if (place == JobAttempt::Place::kPast) ends_->End(source, at);
  if (source->info.attempt.has_value()) {
    source->attempt = *source->info.attempt;
  } else if (place != JobAttempt::Place::kPast) {
    source->attempt = attempt_->number();
  }
}

void AttemptStarts::OnFirstStep(Source* source, EventTime at, EventSink* out) {
  const bool restart =
      attempt_->started() && !attempt_->open() && !source->info.attempt.has_value();
  if (!attempt_->started() || (restart && source->process.running)) {
    // If rank 0 becomes known later, it joins this attempt.
    Begin(source->info.attempt.value_or(attempt_->NextNumber()), *source, at, out);
  }
  source->attempt = source->info.attempt.value_or(attempt_->number());
  if (source->process.running) lifecycle_->Reopen(*source, at, out);
  if (*source->attempt < attempt_->number()) ends_->End(source, at);
}

void AttemptStarts::Begin(uint64_t number, const Source& first, EventTime at, EventSink* out) {
  if (attempt_->started()) {
    for (const auto& [key, source] : sources_->all()) {
      if (source.get() == &first || !source->IsRank() || !source->attempt.has_value() ||
          *source->attempt >= number)
        continue;
      if (source->ended_at == EventTime::Latest()) ends_->End(source.get(), at);
    }
  }
  lifecycle_->BeginAttempt(number, first, sources_->all(), at, out);
}

}  // namespace pitwall::engine
