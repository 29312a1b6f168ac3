// Source starts and the attempts that result from them (time-model.md, section 4), in event-time
// order.
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
  // The pointers are borrowed.
  AttemptStarts(SourceTable* sources, JobAttempt* attempt, JobLifecycle* lifecycle,
                SourceEnds* ends)
      : sources_(sources), attempt_(attempt), lifecycle_(lifecycle), ends_(ends) {}

  // Handles the start of a source and ends its earlier boots. A rank joins its attempt or starts
  // it.
  void OnBoot(Source* source, EventTime at, EventSink* out);
  // Handles a rank's first finished step. The rank joins the running attempt or starts one.
  void OnFirstStep(Source* source, EventTime at, EventSink* out);

 private:
  // Returns false if a later boot of the source has already started.
  bool EndEarlierBoots(Source* source, EventTime at);
  void PlaceRank(Source* source, EventTime at, EventSink* out);
  void Begin(uint64_t number, const Source& first, EventTime at, EventSink* out);

  SourceTable* const sources_;
  JobAttempt* const attempt_;
  JobLifecycle* const lifecycle_;
  SourceEnds* const ends_;
};

}  // namespace pitwall::engine
