// Ticks of a job in event time: evaluations on the time clock, with status updates for step rules
// in between.
#pragma once

#include "services/base/time.h"
#include "services/engine/clocks/job_rules.h"
#include "services/engine/clocks/step_input.h"
#include "services/engine/lifecycle/job_attempt.h"
#include "services/engine/sources/job_clock.h"

namespace pitwall::engine {

// Not thread-safe.
class TickRunner {
 public:
  // The pointers are borrowed.
  TickRunner(const JobIdentity* job, JobClock* clock, JobRules* rules, StepInput* steps,
             JobAttempt* attempt)
      : job_(job), clock_(clock), rules_(rules), steps_(steps), attempt_(attempt) {}

  // Runs all due ticks before `end`. Skips ticks after all verdicts have settled.
  void RunBelow(EventTime end, EventSink* out);

 private:
  EventTime NextTick() const;
  // Returns false if no further tick before `end` is due.
  bool SkipQuiet(EventTime end);
  void Evaluate(EventTime tick, EventSink* out);

  const JobIdentity* const job_;
  JobClock* const clock_;
  JobRules* const rules_;
  StepInput* const steps_;
  JobAttempt* const attempt_;
};

}  // namespace pitwall::engine
