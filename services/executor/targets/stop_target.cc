#include "services/executor/targets/stop_target.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::executor {

StopTargets::Choice StopTargets::Choose(const JobReference& reference) const {
  for (StopTarget* target : targets_) {
    switch (target->Claims(reference)) {
      case StopTarget::Claim::kMine:
        return {.target = target};
      case StopTarget::Claim::kElsewhere:
        return {.elsewhere = true};
      case StopTarget::Claim::kNo:
        break;
    }
  }
  return {.elsewhere = others_elsewhere_};
}

std::string StopTargets::Refusal(const JobReference& reference) const {
  std::vector<std::string> names;
  for (const StopTarget* target : targets_) names.emplace_back(target->name());
  return Cat("the job runs on platform ", Quote(reference.platform), ", kind ",
             Quote(reference.kind), "; this executor has no target for it (targets: ",
             names.empty() ? std::string("none") : Join(names, ", "), "; docs/actions.md)");
}

int64_t StopTargets::look_interval_ns() const {
  int64_t shortest = kNanosPerSecond;
  for (const StopTarget* target : targets_)
    shortest = std::min(shortest, target->look_interval_ns());
  return shortest;
}

void StopTargets::Cancel() const {
  for (StopTarget* target : targets_) target->Cancel();
}

}  // namespace pitwall::executor
