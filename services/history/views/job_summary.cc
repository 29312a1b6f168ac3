#include "services/history/views/job_summary.h"

#include <algorithm>

namespace pitwall::history {
namespace {

// Returns whether the ranks had no time to finalize. If so, the time after their last step belongs
// to an unfinished step, even if that step hung for a long time.
bool WasCutOff(EndDetail end) {
  return end == EndDetail::kDied || end == EndDetail::kCancelled || end == EndDetail::kStopped ||
         end == EndDetail::kSilent;
}

// Summarizes an attempt. `next_ns` is the latest possible end of the attempt.
AttemptSummary SummaryOf(const AttemptLife& life, int64_t from_ns, int64_t next_ns, bool runs) {
  AttemptSummary out;
  out.attempt = life.attempt;
  int64_t begin_ns = life.began_ns == 0 ? from_ns : life.began_ns;
  if (life.first_step_ns != 0) begin_ns = std::min(begin_ns, life.first_step_ns);
  out.begin_ns = std::clamp(begin_ns, from_ns, next_ns);
  out.end_ns = std::clamp(life.ended_ns == 0 ? next_ns : life.ended_ns, out.begin_ns, next_ns);
  auto& parts = out.parts_ns;
  if (life.first_step_ns == 0) {
    parts[static_cast<size_t>(JobPart::kInitialization)] = out.end_ns - out.begin_ns;
    return out;
  }
  out.loop_begin_ns = std::clamp(life.first_step_ns, out.begin_ns, out.end_ns);
  out.loop_end_ns = runs || WasCutOff(life.end_detail)
                        ? out.end_ns
                        : std::clamp(life.last_step_ns, out.loop_begin_ns, out.end_ns);
  parts[static_cast<size_t>(JobPart::kInitialization)] = out.loop_begin_ns - out.begin_ns;
  parts[static_cast<size_t>(JobPart::kTrainingLoop)] = out.loop_end_ns - out.loop_begin_ns;
  parts[static_cast<size_t>(JobPart::kFinalization)] = out.end_ns - out.loop_end_ns;
  return out;
}

// Returns the reported start of the job or the start of its first step, whichever is earlier. If
// training starts immediately, the client reports its start a moment later.
int64_t BeginOf(const JobOverview& job) {
  const int64_t reported_ns = job.started_ns != 0 ? job.started_ns : job.first_ns;
  if (job.attempts.empty() || job.attempts[0].first_step_ns == 0) return reported_ns;
  return std::min(reported_ns, job.attempts[0].first_step_ns);
}

// Returns the end of the job. If the ranks ended the job (completed or failed), the end is the time
// of the last rank's goodbye. Otherwise, the last attempt's end is used, because the job's end is
// reported only after the wait for returning ranks.
int64_t EndOf(const JobOverview& job) {
  if (job.end_detail == EndDetail::kNone) return job.ended_ns;
  const int64_t attempt_ns = job.attempts.empty() ? 0 : job.attempts.back().ended_ns;
  const int64_t reported_ns = attempt_ns == 0 ? job.ended_ns : std::min(attempt_ns, job.ended_ns);
  const bool failed = job.end_detail == EndDetail::kFailed;
  if (job.end_detail != EndDetail::kCompleted && !failed) return reported_ns;
  int64_t end_ns = 0;
  for (const auto& [id, source] : job.sources) {
    // Ranks that took part only in earlier attempts do not determine the end.
    if (source.rank < 0 || (!job.attempts.empty() && source.last_ns < job.attempts.back().began_ns))
      continue;
    if (!source.goodbye || source.goodbye_ns == 0) return failed ? reported_ns : job.ended_ns;
    end_ns = std::max({end_ns, source.goodbye_ns, source.last_ns});
  }
  return end_ns == 0 ? job.ended_ns : std::min(end_ns, job.ended_ns);
}

}  // namespace

JobSummary Summarize(const JobOverview& job) {
  JobSummary out;
  out.begin_ns = BeginOf(job);
  const bool ended = job.ended_ns != 0;
  out.end_ns = std::max(out.begin_ns, ended ? EndOf(job) : job.last_ns);
  int64_t covered_to = out.begin_ns;
  for (size_t i = 0; i < job.attempts.size(); ++i) {
    const AttemptLife& life = job.attempts[i];
    const bool last = i + 1 == job.attempts.size();
    // An attempt ends no later than the start of the next attempt.
    const int64_t next_ns = last || job.attempts[i + 1].began_ns == 0
                                ? out.end_ns
                                : std::clamp(job.attempts[i + 1].began_ns, covered_to, out.end_ns);
    const AttemptSummary attempt =
        SummaryOf(life, covered_to, next_ns, last && !ended && life.ended_ns == 0);
    // The time before the first attempt counts as job initialization.
    const JobPart before = i == 0 ? JobPart::kInitialization : JobPart::kBetweenAttempts;
    out.parts_ns[static_cast<size_t>(before)] += attempt.begin_ns - covered_to;
    for (size_t part = 0; part < out.parts_ns.size(); ++part)
      out.parts_ns[part] += attempt.parts_ns[part];
    covered_to = attempt.end_ns;
    out.attempts.push_back(attempt);
  }
  const JobPart rest = job.attempts.empty() ? JobPart::kInitialization
                       : ended              ? JobPart::kFinalization
                                            : JobPart::kBetweenAttempts;
  out.parts_ns[static_cast<size_t>(rest)] += out.end_ns - covered_to;
  return out;
}

}  // namespace pitwall::history
