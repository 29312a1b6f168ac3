// Ends of ranks: goodbyes, exit statuses, and ranks that a collector before this one knew.
#include <algorithm>
#include <set>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/clients/client_sessions.h"

namespace pitwall::collector {
namespace {

// A job whose ranks said goodbye longer ago is over by silence (time-model.md 4.5).
constexpr int64_t kEndsAgainWithinNs = 1800 * kNanosPerSecond;

// Both are known and not equal: what could not be read proves nothing.
bool Differs(const std::string& then, const std::string& now) {
  return !then.empty() && !now.empty() && then != now;
}

}  // namespace

// A rank that has started again is no longer waited for.
void ClientSessions::ForgetOtherBoots(const Key& key) {
  sender_->cursors()->EndOthers(std::get<0>(key), std::get<1>(key), std::get<2>(key));
  for (auto it = retained_.begin(); it != retained_.end();) {
    const RankSource::Identity& identity = (*it)->identity();
    if (identity.job != std::get<0>(key) || identity.source != std::get<1>(key) ||
        identity.boot_id == std::get<2>(key)) {
      ++it;
      continue;
    }
    if (const auto end = processes_.EndOf(identity.process); end.has_value())
      Conclude(std::move(*it), *end);
    it = retained_.erase(it);
  }
}

void ClientSessions::OnGoodbye(uint64_t client, const client::v1::Goodbye& goodbye) {
  const auto it = sources_.find(client);
  LeavingRanks::Leaving leaving{.source = std::move(it->second),
                                .farewell = {.reason = goodbye.reason(),
                                             .exception = goodbye.exception(),
                                             .exiting = goodbye.exiting(),
                                             .exit_status = {}},
                                .client = client,
                                .since_ns = clock_.MonotonicNs()};
  sources_.erase(it);
  if (goodbye.has_exit_status()) leaving.farewell.exit_status = goodbye.exit_status() & 0xff;
  const Farewell& farewell = leaving.farewell;
  const bool watched = leaving.source->identity().process.self.pid > 0;
  // An exception that nobody caught is a failure whatever the status.
  if (!watched || (farewell.reason == "failed" && !farewell.exception.empty()))
    return Conclude({std::move(leaving), ProcessEnd()});
  // One that runs on leaves its job; the end of its process, if it comes soon, amends that.
  if (!farewell.exiting) bindings_->Release(client, farewell.reason, clock_.MonotonicNs());
  leaving_.Add(std::move(leaving));
}

void ClientSessions::Conclude(LeavingRanks::Done done) {
  // Its job was declared for another owner meanwhile.
  if (done.leaving.farewell.exiting && !bindings_->Holds(done.leaving.client)) return;
  std::unique_ptr<RankSource> source = std::move(done.leaving.source);
  const RankVerdict verdict = JudgeEnd(&done.leaving.farewell, done.end, source->doing().loop_open);
  const RankSource::Identity& identity = source->identity();
  const std::string job = identity.job;
  const int64_t rank = identity.info.rank;
  if (verdict.kind == RankVerdict::Kind::kDied) {
    bindings_->Release(done.leaving.client, std::nullopt, clock_.MonotonicNs());
    return Lose(std::move(source), verdict.end);
  }
  if (verdict.kind == RankVerdict::Kind::kFailed) {
    source->Failed(time_.Now(), verdict.exception, verdict.end);
  } else {
    source->Goodbye(verdict.reason);
  }
  if (bindings_->Holds(done.leaving.client)) {
    bindings_->Release(done.leaving.client, verdict.reason, clock_.MonotonicNs());
  } else {
    bindings_->Amend(job, rank, verdict.reason);
  }
}

void ClientSessions::Conclude(std::unique_ptr<RankSource> source, const ProcessEnd& end) {
  const RankVerdict verdict = JudgeEnd(nullptr, end, source->doing().loop_open);
  if (verdict.kind == RankVerdict::Kind::kDied) return Lose(std::move(source), verdict.end);
  const RankSource::Identity& identity = source->identity();
  PITWALL_LOG(kInfo, "collector", "rank ", identity.info.rank, " of job ", Quote(identity.job),
              " exited with status 0 without goodbye: pid ", identity.process.self.pid);
  source->Goodbye(verdict.reason);
  bindings_->Amend(identity.job, identity.info.rank, verdict.reason);
}

void ClientSessions::Lose(std::unique_ptr<RankSource> source, const ProcessEnd& end) {
  const RankSource::Identity& identity = source->identity();
  std::string how;
  if (end.signal.has_value()) CatTo(how, ", killed by signal ", *end.signal);
  if (end.exit_code.has_value()) CatTo(how, ", exit code ", *end.exit_code);
  if (end.oom_killed) CatTo(how, ", by the out-of-memory killer");
  PITWALL_LOG(kWarning, "collector", "rank ", identity.info.rank, " of job ", Quote(identity.job),
              " ended without goodbye: pid ", identity.process.self.pid, how);
  // The kernel closes a connection as the process ends, before anybody sees the end: so the deaths
  // of one node come in their order.
  const int64_t now = time_.Now();
  const int64_t closed = source->closed_at_ns();
  source->Lost(now - closed < kEndsWithinNs ? closed : now, end);
  bindings_->Died(identity.job, identity.info.rank);
  if (captures_ != nullptr) captures_->states()->Gone(identity.job, identity.info.rank);
  launches_.Lost(std::move(source));
}

void ClientSessions::TakeUpKnown() {
  std::vector<std::unique_ptr<RankSource>> known;
  std::set<std::string, std::less<>> jobs;
  std::set<std::string, std::less<>> ended;  // jobs with a rank that said goodbye
  for (const ClientCursor& cursor : sender_->cursors()->Ranks()) {
    std::optional<TrackedRank> rank = DecodeKnownRank(*cursor.rank);
    // Numbers of another namespace say nothing about processes of this one.
    if (!rank.has_value() || Differs(rank->home.pid_namespace, home_.pid_namespace)) continue;
    if (cursor.source != Cat("rank-", rank->info.rank, "@", options_.node)) continue;
    RankSource::Identity identity;
    identity.job = cursor.job;
    identity.owner = std::move(rank->owner);
    identity.owner_declared = rank->owner_declared;
    identity.source = cursor.source;
    identity.boot_id = cursor.boot_id;
    identity.info = std::move(rank->info);
    identity.info.node = options_.node;
    identity.world_size = rank->world_size;
    identity.resends = rank->resends;
    identity.first_sequence = FirstSequence(time_.Now() - identity.info.start_ns, cursor);
    identity.known = cursor;
    if (rank->goodbye.has_value()) {
      if (time_.Now() - cursor.promise_ns > kEndsAgainWithinNs) continue;
      ended.insert(cursor.job);
      bindings_->Resume({cursor.job, identity.owner, identity.owner_declared, identity.info.rank,
                         identity.world_size, std::move(rank->goodbye)},
                        clock_.MonotonicNs());
      continue;
    }
    processes_.Follow(&rank->process);
    identity.process = std::move(rank->process);
    identity.home = std::move(rank->home);
    known.push_back(std::make_unique<RankSource>(std::move(identity), sender_, counters_));
    const RankSource::Identity& taken = known.back()->identity();
    launches_.Started(taken.job, taken.process, jobs.insert(taken.job).second);
  }
  for (std::unique_ptr<RankSource>& source : known) {
    const RankSource::Identity& identity = source->identity();
    if (ended.contains(identity.job)) {
      bindings_->Resume({identity.job, identity.owner, identity.owner_declared, identity.info.rank,
                         identity.world_size, std::nullopt},
                        clock_.MonotonicNs());
    }
    if (Differs(identity.home.boot, home_.boot)) {
      Lose(std::move(source), ProcessEnd());
    } else if (const auto end = processes_.EndOf(identity.process); end.has_value()) {
      Conclude(std::move(source), *end);
    } else {
      Retain(std::move(source));
    }
  }
}

}  // namespace pitwall::collector
