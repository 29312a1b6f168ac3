// Starts of sources, and the attempts that these begin (time-model.md, section 4), in order of
// event time.
#pragma once

#include <cstdint>

#include "services/engine/job/job_lifecycle.h"
#include "services/engine/job/source_ends.h"
#include "services/engine/lifecycle/job_attempt.h"
#include "services/engine/sources/source_table.h"

namespace pitwall::engine {

// Not thread-safe.
class AttemptStarts {
 public:
  // All are borrowed.
  AttemptStarts(SourceTable* sources, JobAttempt* attempt, JobLifecycle* lifecycle,
                SourceEnds* ends)
      : sources_(sources), attempt_(attempt), lifecycle_(lifecycle), ends_(ends) {}

  // A source has started: its earlier boots end. A rank joins its attempt, or begins it.
  void OnBoot(Source* source, int64_t at, EventSink* out);
  // A rank has finished its first step: it belongs to the attempt that runs, or begins one.
  void OnFirstStep(Source* source, int64_t at, EventSink* out);

 private:
  // False: a later boot of it has begun already.
  bool EndEarlierBoots(Source* source, int64_t at);
  void PlaceRank(Source* source, int64_t at, EventSink* out);
  void Begin(uint64_t number, const Source& first, int64_t at, EventSink* out);

  SourceTable* const sources_;
  JobAttempt* const attempt_;
  JobLifecycle* const lifecycle_;
  SourceEnds* const ends_;
};

}  // namespace pitwall::engine
