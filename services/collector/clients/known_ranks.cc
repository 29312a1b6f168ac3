// Ranks known to the previous collector process.
#include <set>
#include <utility>

#include "services/base/text/strings.h"
#include "services/collector/clients/client_sessions.h"
#include "services/collector/clients/hello.h"

namespace pitwall::collector {
namespace {

// A job whose ranks sent their goodbyes longer ago than this has already ended due to silence
// (time-model.md 4.5).
constexpr int64_t kEndsAgainWithinNs = 1800 * kNanosPerSecond;

// Returns true if both values are known and differ. An unreadable value proves nothing.
bool Differs(const std::string& then, const std::string& now) {
  return !then.empty() && !now.empty() && then != now;
}

}  // namespace

void ClientSessions::TakeUpKnown() {
  std::vector<std::unique_ptr<RankSource>> known;
  std::set<std::string, std::less<>> jobs;
  std::set<std::string, std::less<>> ended;  // jobs with a rank that sent its goodbye
  for (const ClientCursor& cursor : sender_->cursors()->Ranks()) {
    std::optional<TrackedRank> rank = DecodeKnownRank(*cursor.rank);
    // PIDs from another PID namespace do not identify processes in this collector's namespace.
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
    identity.first_sequence = FirstSequence(time_.Now() - identity.info.start.ns(), cursor);
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
      ends_.Lose(std::move(source), ProcessEnd());
    } else if (const auto end = processes_.EndOf(identity.process); end.has_value()) {
      ends_.Conclude(std::move(source), *end);
    } else {
      retained_.Add(std::move(source));
    }
  }
}

}  // namespace pitwall::collector
