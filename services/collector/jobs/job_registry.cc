#include "services/collector/jobs/job_registry.h"

#include <algorithm>
#include <utility>

#include "services/base/clock.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/collector/metrics/refusal.h"
#include "services/model/owner.h"

namespace pitwall::collector {
namespace {

BoundJob ViewOf(const JobDeclaration& option) {
  BoundJob view;
  view.id = option.id;
  view.name = option.name;
  view.reference = option.reference;
  view.labels = option.labels;
  view.gpus = option.gpus;
  view.cgroup = option.cgroup;
  return view;
}
}  // namespace

Status CheckJobId(std::string_view id) {
  if (id.empty()) return InvalidArgument("job ID must not be empty");
  if (id.size() > 256)
    return InvalidArgument(Cat("job ID must be at most 256 bytes long (got ", id.size(), ")"));
  if (HasControl(id))
    return InvalidArgument(
        Cat("job ID must not contain control characters (got ", Quote(TerminalLine(id)), ")"));
  if (StartsWith(id, "__") || StartsWith(id, "node:")) {
    return InvalidArgument(Cat("job ID must not start with __ or node: (got ", Quote(id), ")"));
  }
  return OkStatus();
}

JobRegistry::JobRegistry(const BindingOptions& options) : options_(options) {}

JobRegistry::Job* JobRegistry::Find(std::string_view id) {
  const auto it = jobs_.find(std::string(id));
  return it == jobs_.end() ? nullptr : &it->second;
}

void JobRegistry::BindOption(const JobDeclaration& option) {
  MutexLock lock(&mutex_);
  Job& job = jobs_[option.id];
  job.by_option = true;
  job.view = ViewOf(option);
  Declare(job, option);
  ++version_;
}

bool JobRegistry::MayJoin(const Job& job, std::string_view owner) {
  return job.view.owner.empty() || job.view.owner == owner ||
         std::find(job.members.begin(), job.members.end(), owner) != job.members.end();
}

void JobRegistry::Declare(Job& job, const JobDeclaration& option) {
  if (option.owner.empty()) return;
  const bool displaces = !job.view.owner.empty() && job.view.owner != option.owner;
  job.view.owner = option.owner;
  job.view.owner_declared = true;
  job.members = option.members;
  for (auto it = job.clients.begin(); it != job.clients.end();) {
    // If the owner changes, even the new owner's clients must register again.
    if (!displaces && MayJoin(job, it->second.owner)) {
      ++it;
      continue;
    }
    client_jobs_.erase(it->first);
    it = job.clients.erase(it);
  }
  if (!displaces) return;
  job.reference = {};
  job.had_client = job.announced = false;
  job.client_labels.clear();
  job.world_size = 0;
  job.goodbyes.clear();
  job.lost.clear();
  job.view.by_client_only = false;
  job.view.announced = {};
}

void JobRegistry::SetDropped(const std::vector<DroppedJob>& dropped) {
  MutexLock lock(&mutex_);
  bool changed = false;
  for (auto& entry : jobs_) {
    const bool still = std::any_of(dropped.begin(), dropped.end(), [&entry](const DroppedJob& d) {
      return d.job.id == entry.first;
    });
    if (entry.second.by_drop && !still) {
      entry.second.by_drop = false;
      changed = true;
    }
  }
  for (const DroppedJob& d : dropped) {
    Job* job = Find(d.job.id);
    if (job == nullptr) {
      if (!d.ended.empty() || ended_.Covers(d.job)) continue;
      job = &jobs_[d.job.id];
    }
    const bool redeclared = !d.job.owner.empty() && !job->by_option &&
                            (job->view.owner != d.job.owner || !job->view.owner_declared ||
                             job->members != d.job.members);
    if (redeclared) {
      Declare(*job, d.job);
      changed = true;
    }
    BoundJob view = ViewOf(d.job);
    if (view.name.empty()) view.name = job->view.name;
    if (!job->by_drop || job->view.gpus != view.gpus || job->view.cgroup != view.cgroup ||
        job->view.name != view.name || job->view.reference != view.reference ||
        job->view.labels != view.labels || !SameEnd(job->dropped_end, d)) {
      view.by_client_only = job->view.by_client_only;
      view.announced = job->view.announced;
      view.owner = job->view.owner;
      view.owner_declared = job->view.owner_declared;
      job->view = std::move(view);
      job->by_drop = true;
      if (d.ended.empty()) job->dropped_end_at_ns.reset();
      job->dropped_end = {.job = {}, .ended = d.ended, .platform_end = d.platform_end};
      changed = true;
    }
  }
  if (changed) ++version_;
}

bool JobRegistry::RunsElsewhere(const Job& job, const JobClaim& claim) {
  return std::any_of(job.clients.begin(), job.clients.end(), [&claim](const auto& entry) {
    const JobClient& client = entry.second;
    if (client.rank != claim.rank) return false;
    // If the PIDs are unknown because of a different PID namespace, boot IDs are compared. This is
    // sufficient, because a process closes its old connection before it starts a new boot.
    return client.pid > 0 && claim.pid > 0 ? client.pid != claim.pid
                                           : client.boot_id != claim.boot_id;
  });
}

std::string JobRegistry::IdOf(const JobClaim& claim) {
  if (!claim.job_id.empty()) return claim.job_id;
  if (std::string job = launches_.Restarted(claim); !job.empty() && !HasEnded(job)) return job;
  const std::string prefix = Cat(OwnerIdPrefix(claim.owner), claim.job_name, ":");
  if (claim.job_start_ns != 0) return Cat(prefix, claim.job_start_ns / kNanosPerMilli);
  std::string own;
  const Job* known = nullptr;
  // Two runs may start within the same millisecond.
  for (int64_t start_ms = claim.client_start_ns / kNanosPerMilli;; ++start_ms) {
    own = Cat(prefix, start_ms);
    known = Find(own);
    if (known == nullptr || !RunsElsewhere(*known, claim)) break;
  }
  if (known != nullptr) return own;
  for (const auto& [id, job] : jobs_) {
    if (job.view.name == claim.job_name && (!job.clients.empty() || job.by_option || job.by_drop) &&
        MayJoin(job, claim.owner) && !RunsElsewhere(job, claim))
      return id;
  }
  return own;
}

bool JobRegistry::HasEnded(std::string_view job) const {
  return !jobs_.contains(std::string(job)) && ended_.Contains(job);
}

StatusOr<JobRegistry::Claimed> JobRegistry::Claim(uint64_t client, const JobClaim& claim) {
  if (claim.job_id.empty() && claim.job_name.empty())
    return InvalidArgument("hello: job ID or job name must be set");
  MutexLock lock(&mutex_);
  Claimed claimed;
  claimed.job_id = IdOf(claim);
  RETURN_IF_ERROR(CheckJobId(claimed.job_id));
  Job* job = Find(claimed.job_id);
  if (job == nullptr) {
    if (const std::string reserved = OwnerOfJobId(claimed.job_id);
        !reserved.empty() && reserved != claim.owner) {
      return Refuse(Refusal::kOtherOwner,
                    Cat("job ", Quote(claimed.job_id), ": IDs of this form are reserved for ",
                        reserved, ", not for ", claim.owner, "; choose another PITWALL_JOB_ID"));
    }
    RETURN_IF_ERROR(CheckShares(claim, claimed.job_id));
    job = &jobs_[claimed.job_id];
    job->view.id = claimed.job_id;
    job->view.name = claim.job_name;
    job->view.announced = claim.reference;
    job->view.labels = claim.labels;
    job->view.by_client_only = true;
    claimed.first = true;
  } else if (!MayJoin(*job, claim.owner)) {
    return Refuse(
        Refusal::kOtherOwner,
        Cat("job ", Quote(claimed.job_id), " belongs to ", job->view.owner,
            job->view.owner_declared ? " (declared on this node)" : " (its first client)",
            ", but this process belongs to ", claim.owner.empty() ? "an unknown user" : claim.owner,
            "; run the process as the owner, choose another PITWALL_JOB_ID, or let root declare "
            "the owner in the drop folder"));
  }
  if (job->view.owner.empty()) job->view.owner = claim.owner;
  if (job->view.name.empty()) job->view.name = claim.job_name;  // the name is optional in files
  claimed.owner = job->view.owner;
  claimed.owner_declared = job->view.owner_declared;
  for (const Label& label : claim.labels) {
    const auto known = job->client_labels.find(label.name);
    if (known == job->client_labels.end() && job->client_labels.size() >= kMaxClientLabels)
      continue;
    if (known != job->client_labels.end() && known->second == label.value) continue;
    job->client_labels[label.name] = label.value;
    claimed.news.push_back(label);
  }
  job->clients[client] = {claim.rank, claim.boot_id, claim.pid,
                          claim.user, claim.owner,   claim.reference};
  job->reference.Update(job->clients);
  job->had_client = true;
  job->world_size = std::max(job->world_size, claim.world_size);
  job->goodbyes.erase(claim.rank);
  job->lost.erase(claim.rank);
  job->away.erase(claim.rank);
  client_jobs_[client] = claimed.job_id;
  launches_.Remember(claim, claimed.job_id);
  return claimed;
}

Status JobRegistry::CheckShares(const JobClaim& claim, const std::string& id) const {
  size_t all = 0;
  size_t own = 0;
  for (const auto& [other, job] : jobs_) {
    if (job.by_option || job.by_drop) continue;
    ++all;
    own += job.view.owner == claim.owner;
  }
  if (own >= options_.max_jobs_per_owner) {
    return Refuse(Refusal::kJobsOfOwner,
                  Cat("job ", Quote(id), ": ", claim.owner, " has ", own,
                      " jobs on this node, the maximum set by collector.limits.jobs_per_owner; end "
                      "some or raise the limit"));
  }
  if (all >= options_.max_jobs) {
    return Refuse(Refusal::kJobs,
                  Cat("job ", Quote(id), ": this node has ", all,
                      " jobs, the maximum set by collector.limits.jobs; raise the limit"));
  }
  return OkStatus();
}

bool JobRegistry::Holds(uint64_t client) const {
  MutexLock lock(&mutex_);
  return client_jobs_.contains(client);
}

void JobRegistry::SetObject(const std::string& job_id, const JobReference& object) {
  MutexLock lock(&mutex_);
  Job* job = Find(job_id);
  if (job == nullptr || !job->reference.SetObject(object)) return;
  ++version_;
}

void JobRegistry::Announced(uint64_t client) {
  MutexLock lock(&mutex_);
  const auto known = client_jobs_.find(client);
  if (known == client_jobs_.end()) return;
  if (Job* job = Find(known->second)) job->announced = true;
  ++version_;
}

void JobRegistry::Release(uint64_t client, const std::optional<std::string>& goodbye,
                          int64_t now_ns) {
  MutexLock lock(&mutex_);
  const auto known = client_jobs_.find(client);
  if (known == client_jobs_.end()) return;
  Job* job = Find(known->second);
  client_jobs_.erase(known);
  if (job == nullptr) return;
  const auto it = job->clients.find(client);
  if (it == job->clients.end()) return;
  const int64_t rank = it->second.rank;
  job->clients.erase(it);
  const bool again = std::any_of(job->clients.begin(), job->clients.end(),
                                 [&](const auto& other) { return other.second.rank == rank; });
  if (!again && goodbye.has_value()) job->goodbyes[rank] = *goodbye;
  if (!again && !goodbye.has_value()) {
    job->lost.insert(rank);
    job->away.insert(rank);
  }
  job->reference.Update(job->clients);
  if (job->clients.empty()) job->empty_since_ns = now_ns;
  ++version_;
}

void JobRegistry::Resume(const Known& known, int64_t now_ns) {
  MutexLock lock(&mutex_);
  const auto [it, added] = jobs_.try_emplace(known.job);
  Job& job = it->second;
  if (added) {
    job.view.id = known.job;
    job.view.owner = known.owner;
    job.view.owner_declared = known.owner_declared;
    job.view.by_client_only = true;
  }
  job.had_client = job.announced = true;
  job.world_size = std::max(job.world_size, known.world_size);
  job.empty_since_ns = now_ns;
  if (known.goodbye.has_value()) {
    job.goodbyes[known.rank] = *known.goodbye;
  } else {
    job.lost.insert(known.rank);
    job.away.insert(known.rank);
  }
  ++version_;
}

void JobRegistry::Amend(const std::string& job_id, int64_t rank, std::string_view reason) {
  MutexLock lock(&mutex_);
  Job* job = Find(job_id);
  if (job == nullptr || std::any_of(job->clients.begin(), job->clients.end(),
                                    [&](const auto& c) { return c.second.rank == rank; }))
    return;
  job->lost.erase(rank);
  job->away.erase(rank);
  job->goodbyes[rank] = std::string(reason);
  ++version_;
}

void JobRegistry::Died(const std::string& job_id, int64_t rank) {
  MutexLock lock(&mutex_);
  Job* job = Find(job_id);
  if (job == nullptr || job->away.erase(rank) == 0) return;
  ++version_;
}

std::vector<EndedJob> JobRegistry::Expire(int64_t now_ns) {
  MutexLock lock(&mutex_);
  std::vector<EndedJob> over;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    Job& job = it->second;
    EndedJob ended{it->first, false, "", {}};
    bool gone = false;
    if (!job.dropped_end.ended.empty()) {
      if (!job.dropped_end_at_ns) job.dropped_end_at_ns = now_ns;
      gone = !job.dropped_end.platform_end || (job.clients.empty() && job.away.empty()) ||
             now_ns - *job.dropped_end_at_ns >= kLastWordsNs;
      ended.ended = gone && job.dropped_end.ended != kRequeued;
      ended.reason = job.dropped_end.ended;
      ended.platform_end = job.dropped_end.platform_end;
    } else if (job.clients.empty() && job.had_client && !job.goodbyes.empty() && job.lost.empty()) {
      // All local clients have sent their goodbyes. Ranks on other nodes may still be running, so
      // only the node with rank 0 ends the job.
      bool failed = false;
      bool cancelled = false;
      bool known = true;
      for (const auto& [rank, reason] : job.goodbyes) {
        failed |= reason == "failed";
        cancelled |= reason == "cancelled";
        known &= !reason.empty();
      }
      const bool speaks =
          job.goodbyes.contains(0) || static_cast<int64_t>(job.goodbyes.size()) >= job.world_size;
      const int64_t grace_ns = failed ? options_.failed_grace_ns : options_.completed_grace_ns;
      if (now_ns - job.empty_since_ns >= grace_ns) {
        ended.ended = speaks && (known || failed);
        ended.reason = failed ? "failed" : cancelled ? "cancelled" : "completed";
        gone = ended.ended || (!job.by_option && !job.by_drop);
      }
    } else if (!job.by_option && !job.by_drop && job.clients.empty()) {
      gone = !job.had_client || job.away.empty() ||
             now_ns - job.empty_since_ns >= options_.lost_grace_ns;
    }
    if (!gone) {
      ++it;
      continue;
    }
    if (ended.ended) {
      ended_.Add(ended.id, job.view.owner, job.view.owner_declared);
    }
    over.push_back(std::move(ended));
    it = jobs_.erase(it);
    ++version_;
  }
  return over;
}

std::vector<BoundJob> JobRegistry::Jobs(uint64_t* version) const {
  MutexLock lock(&mutex_);
  *version = version_;
  std::vector<BoundJob> out;
  for (const auto& [id, job] : jobs_) {
    if (!job.announced && !job.by_option && !job.by_drop) continue;
    BoundJob view = job.view;
    view.present = job.by_option || job.by_drop || !job.clients.empty();
    view.deserted = !view.present && job.had_client && job.away.empty();
    view.reference = job.reference.Reference(job.view.reference, job.clients);
    for (const auto& [client, process] : job.clients) {
      if (process.pid > 0) view.processes.push_back({process.rank, process.pid});
    }
    std::sort(view.processes.begin(), view.processes.end());
    out.push_back(std::move(view));
  }
  return out;
}

uint64_t JobRegistry::version() const {
  MutexLock lock(&mutex_);
  return version_;
}

}  // namespace pitwall::collector
