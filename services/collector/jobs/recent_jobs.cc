#include "services/collector/jobs/recent_jobs.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace pitwall::collector {
namespace {

constexpr size_t kRememberedEnds = 256;
constexpr size_t kRememberedLaunches = 256;

// Returns the restart count in the claim, if there is one.
std::optional<uint64_t> RestartsOf(const JobClaim& claim) {
  for (const Label& label : claim.labels) {
    if (label.name != kRestartCount) continue;
    uint64_t count = 0;
    const char* end = label.value.data() + label.value.size();
    const auto [rest, error] = std::from_chars(label.value.data(), end, count);
    if (error == std::errc() && rest == end) return count;
  }
  return std::nullopt;
}

}  // namespace

std::string RecentLaunches::Restarted(const JobClaim& claim) const {
  const std::optional<uint64_t> restarts = RestartsOf(claim);
  if (claim.launcher.empty() || !restarts.has_value()) return "";
  const auto found = std::find_if(launches_.begin(), launches_.end(),
                                  [&](const Launch& launch) { return launch.Has(claim); });
  return found != launches_.end() && *restarts > found->restarts ? found->job : "";
}

void RecentLaunches::Remember(const JobClaim& claim, const std::string& job) {
  const std::optional<uint64_t> restarts = RestartsOf(claim);
  if (claim.launcher.empty() || !restarts.has_value()) return;
  std::erase_if(launches_, [&](const Launch& launch) { return launch.Has(claim); });
  launches_.push_back({claim.launcher, claim.owner, claim.job_name, job, *restarts});
  if (launches_.size() > kRememberedLaunches) launches_.pop_front();
}

void RecentEnds::Add(const std::string& id, const std::string& owner, bool declared) {
  ended_.push_back({id, owner, declared});
  if (ended_.size() > kRememberedEnds) ended_.pop_front();
}

bool RecentEnds::Contains(std::string_view id) const {
  return std::any_of(ended_.begin(), ended_.end(), [&](const Ended& e) { return e.id == id; });
}

bool RecentEnds::Covers(const JobDeclaration& job) const {
  return std::any_of(ended_.begin(), ended_.end(), [&](const Ended& e) {
    return e.id == job.id && (e.declared || job.owner.empty() || e.owner == job.owner);
  });
}

}  // namespace pitwall::collector
