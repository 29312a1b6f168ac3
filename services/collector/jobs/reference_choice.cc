#include "services/collector/jobs/reference_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall::collector {

void ReferenceChoice::Update(const JobClients& clients) {
  if (by_client_ != JobReference{} && by_client_.platform != kProcessPlatform) return;
  const JobClient* lowest = nullptr;
  for (const auto& [id, client] : clients) {
    if (client.reference == JobReference{} || (user_ >= 0 && client.user != user_)) continue;
    if (client.reference == by_client_) return;  // the process is still running here
    if (lowest == nullptr || client.rank < lowest->rank) lowest = &client;
  }
  if (lowest == nullptr) return;
  by_client_ = lowest->reference;
  user_ = lowest->user;
}

bool ReferenceChoice::SetObject(const JobReference& object) {
  if (by_pod_ != JobReference{}) return false;
  by_pod_ = object;
  return true;
}

JobReference ReferenceChoice::Reference(const JobReference& declared,
                                        const JobClients& clients) const {
  const JobReference none;
  if (declared != none) return declared;
  const bool process = by_client_ == none || by_client_.platform == kProcessPlatform;
  if (process && by_pod_ != none) return by_pod_;
  JobReference reference = by_client_;
  if (reference.platform == kProcessPlatform) AddProcesses(clients, &reference.uid);
  return reference;
}

void ReferenceChoice::AddProcesses(const JobClients& clients, std::string* uid) const {
  std::vector<std::pair<int64_t, std::string_view>> others;  // rank and uid
  for (const auto& [id, client] : clients) {
    const JobReference& reference = client.reference;
    if (reference.platform == kProcessPlatform && client.user == user_ && reference.uid != *uid)
      others.emplace_back(client.rank, reference.uid);
  }
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  if (others.size() >= kMaxReferenceProcesses) {
    *uid += "+more";
    return;
  }
  for (const auto& [rank, other] : others) {
    // A process uid is "<pid>@<node>/<start>". The node in the first process's uid is used.
    const size_t at = other.find('@');
    const size_t slash = other.rfind('/');
    if (at != std::string_view::npos && slash != std::string_view::npos)
      *uid += Cat("+", other.substr(0, at), other.substr(slash));
  }
}

}  // namespace pitwall::collector
