#include "services/collector/ranks/rank_ends.h"

#include <string>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/ranks/rank_verdict.h"

namespace pitwall::collector {

void RankEnds::Conclude(LeavingRanks::Done done) {
  // The job has since been declared for another owner.
  if (done.leaving.farewell.exiting && !jobs_->Holds(done.leaving.client)) return;
  std::unique_ptr<RankSource> source = std::move(done.leaving.source);
  const RankVerdict verdict = JudgeEnd(&done.leaving.farewell, done.end, source->doing().loop_open);
  const RankSource::Identity& identity = source->identity();
  const std::string job = identity.job;
  const int64_t rank = identity.info.rank;
  if (verdict.kind == RankVerdict::Kind::kDied) {
    jobs_->Release(done.leaving.client, std::nullopt, clock_.MonotonicNs());
    return Lose(std::move(source), verdict.end);
  }
  if (verdict.kind == RankVerdict::Kind::kFailed) {
    source->Failed(time_.Now(), verdict.exception, verdict.end);
  } else {
    source->Goodbye(verdict.reason);
  }
  if (jobs_->Holds(done.leaving.client)) {
    jobs_->Release(done.leaving.client, verdict.reason, clock_.MonotonicNs());
  } else {
    jobs_->Amend(job, rank, verdict.reason);
  }
}

void RankEnds::Conclude(std::unique_ptr<RankSource> source, const ProcessEnd& end) {
  const RankVerdict verdict = JudgeEnd(nullptr, end, source->doing().loop_open);
  if (verdict.kind == RankVerdict::Kind::kDied) return Lose(std::move(source), verdict.end);
  const RankSource::Identity& identity = source->identity();
  PITWALL_LOG(kInfo, "collector", "rank ", identity.info.rank, " of job ", Quote(identity.job),
              " exited with status 0 without a goodbye: pid ", identity.process.self.pid);
  source->Goodbye(verdict.reason);
  jobs_->Amend(identity.job, identity.info.rank, verdict.reason);
}

void RankEnds::Lose(std::unique_ptr<RankSource> source, const ProcessEnd& end) {
  const RankSource::Identity& identity = source->identity();
  std::string how;
  if (end.signal.has_value()) CatTo(how, ", killed by signal ", *end.signal);
  if (end.exit_code.has_value()) CatTo(how, ", exit code ", *end.exit_code);
  if (end.oom_killed) CatTo(how, ", by the out-of-memory killer");
  PITWALL_LOG(kWarning, "collector", "rank ", identity.info.rank, " of job ", Quote(identity.job),
              " ended without a goodbye: pid ", identity.process.self.pid, how);
  // The kernel closes the connection when the process ends. Using that time keeps the deaths on one
  // node in order.
  const int64_t now = time_.Now();
  const int64_t closed = source->closed_at_ns();
  source->Lost(now - closed < kEndsWithinNs ? closed : now, end);
  jobs_->Died(identity.job, identity.info.rank);
  if (captures_ != nullptr) captures_->states()->Gone(identity.job, identity.info.rank);
  launches_->Lost(std::move(source));
}

}  // namespace pitwall::collector
