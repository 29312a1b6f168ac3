#include "services/processor/grace_watch.h"

#include <map>
#include <optional>
#include <utility>

#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::processor {
namespace {
constexpr size_t kMostJobs = 64;
constexpr int64_t kEverySeconds = 30;
}  // namespace

std::vector<std::string> GraceWatch::Look(const std::vector<const engine::Job*>& jobs) {
  std::vector<std::string> lines;
  std::map<std::string, int64_t, std::less<>> next_line;
  waiting_ = 0;
  for (const engine::Job* job : jobs) {
    const std::optional<Duration> over_in = job->state().lifecycle.OverIn();
    if (!over_in.has_value()) continue;
    ++waiting_;
    const int64_t left =
        (*over_in + Duration::Seconds(1) - Duration::Nanos(1)) / Duration::Seconds(1);
    const auto known = next_line_.find(job->state().identity.id);
    if (known == next_line_.end() && next_line.size() >= kMostJobs) continue;
    if (known != next_line_.end() && left > known->second) {
      next_line.insert(*known);
      continue;
    }
    lines.push_back(Cat("job ", Quote(job->state().identity.id), ": attempt ",
                        job->state().lifecycle.attempt(), " died; over in ", left,
                        " s unless a rank returns"));
    next_line[job->state().identity.id] = left - kEverySeconds;
  }
  next_line_ = std::move(next_line);
  return lines;
}

}  // namespace pitwall::processor
