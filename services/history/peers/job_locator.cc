#include "services/history/peers/job_locator.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

JobLocator::JobLocator(const History* own, const Clock* clock, HttpTransport* transport,
                       FleetOptions options)
    : own_(own), options_(std::move(options)) {
  for (size_t i = 0; i < options_.peers.size(); ++i) {
    const int index = static_cast<int>(i);
    peers_.push_back(index == options_.index
                         ? nullptr
                         : std::make_unique<Peer>(index, options_.index, options_.peers[i], clock,
                                                  transport, &options_.peer));
  }
}

int JobLocator::OwnerOf(std::string_view id) const {
  return PartitionOf(id, options_.partitions) % size();
}

StatusOr<bool> JobLocator::Has(int index, const std::string& id) const {
  if (index == options_.index) {
    const StatusOr<JobLifePtr> job = own_->FindJob(id);
    return job.ok() && (*job)->id == id;
  }
  BinaryWriter words;
  words.Str(id);
  ASSIGN_OR_RETURN(const std::string answer, peer(index)->Call(PeerMethod::kHas, words.data()));
  BinaryReader in(answer);
  const bool has = in.Bool();
  RETURN_IF_ERROR(in.Finish("response of a peer"));
  return has;
}

StatusOr<int> JobLocator::HolderOf(const std::string& id) const {
  const int owner = OwnerOf(id);
  ASSIGN_OR_RETURN(const bool owned, Has(owner, id));
  if (owned) return owner;
  Status fault;
  for (int i = 0; i < size(); ++i) {
    if (i == owner) continue;
    const StatusOr<bool> has = Has(i, id);
    if (has.ok() && *has) return i;
    if (!has.ok()) fault = has.status();
  }
  RETURN_IF_ERROR(fault);
  return NotFound(Cat("job ", Quote(id), ": the history has no such job"));
}

JobLocator::HeldJobs JobLocator::AllJobs() const {
  HeldJobs out;
  std::map<std::string_view, Held> by_id;  // keys are views into strings of the overviews
  const auto take = [&](int index, JobLifePtr job) {
    const auto known = by_id.find(job->id);
    if (known == by_id.end()) {
      const std::string_view id = job->id;
      by_id.emplace(id, Held(index, std::move(job)));
      return;
    }
    if (index != OwnerOf(job->id)) return;
    by_id.erase(known);
    const std::string_view id = job->id;
    by_id.emplace(id, Held(index, std::move(job)));
  };
  for (int i = 0; i < size(); ++i) {
    if (i == options_.index) {
      for (JobLifePtr& job : own_->Jobs()) take(i, std::move(job));
      continue;
    }
    const StatusOr<std::string> answer = peer(i)->Call(PeerMethod::kJobs, "");
    if (!answer.ok()) {
      out.missing.Add(i, std::string(ToStd(answer.status().message())));
      continue;
    }
    BinaryReader in(*answer);
    std::vector<JobLifePtr> jobs;
    for (size_t n = in.Count(20); n > 0 && in.ok(); --n) jobs.push_back(TakeLife(&in));
    if (const Status whole = in.Finish("response of a peer"); !whole.ok()) {
      out.missing.Add(i, std::string(ToStd(whole.message())));
      continue;
    }
    for (JobLifePtr& job : jobs) take(i, std::move(job));
  }
  for (auto& [id, held] : by_id) out.jobs.push_back(held);
  std::sort(out.jobs.begin(), out.jobs.end(), [](const Held& a, const Held& b) {
    return std::tie(b.second->last_ns, a.second->id) < std::tie(a.second->last_ns, b.second->id);
  });
  return out;
}

StatusOr<JobHolder> JobLocator::Holder(std::string_view wanted) const {
  const std::string id(wanted);
  const StatusOr<int> exact = HolderOf(id);
  if (exact.ok()) return JobHolder{*exact, id};
  if (!absl::IsNotFound(exact.status()))
    return Unavailable(Cat("job ", Quote(wanted), ": ", ToStd(exact.status().message())));
  const HeldJobs all = AllJobs();
  std::vector<Held> named, begun;
  for (const Held& held : all.jobs) {
    if (held.second->name == wanted) named.push_back(held);
    if (!wanted.empty() && StartsWith(held.second->id, wanted)) begun.push_back(held);
  }
  const std::vector<Held>& found = named.empty() ? begun : named;
  if (found.empty() && !all.missing.empty()) {
    return Unavailable(Cat("job ", Quote(wanted), ": not found, but ", all.missing.size(),
                           " peers do not respond"));
  }
  if (found.empty()) return NotFound(Cat("job ", Quote(wanted), ": the history has no such job"));
  if (found.size() > 1) {
    return InvalidArgument(Cat("job ", Quote(wanted), ": ", found.size(), " jobs match, such as ",
                               found[0].second->id, " and ", found[1].second->id,
                               "; use the complete ID"));
  }
  return JobHolder{found[0].first, found[0].second->id};
}

Status JobLocator::CheckStoredHere(std::string_view job) const {
  ASSIGN_OR_RETURN(const int holder, HolderOf(std::string(job)));
  if (holder == options_.index) return OkStatus();
  return Unimplemented(Cat("job ", Quote(job), ": another process stores it; query that process"));
}

}  // namespace pitwall::history
