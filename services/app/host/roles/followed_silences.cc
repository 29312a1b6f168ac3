#include "services/app/host/roles/followed_silences.h"

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall {

void FollowedSilences::Look() {
  const MutexLock lock(&mutex_);
  const int64_t now = clock_->MonotonicNs();
  if (now < next_look_ns_) return;
  const Status read = open_ ? book_.ReadNew() : book_.Open();
  open_ = open_ || read.ok();
  next_look_ns_ = now + (read.ok() ? 1 : 10) * kNanosPerSecond;
  if (!read.ok())
    PITWALL_LOG(kWarning, "insights", "silences cannot be read: ", ToStd(read.message()));
}

std::optional<SilencedIssue> FollowedSilences::Of(const IssueEvent& event) {
  Look();
  return notifier::SilencedBy(book_.set(), event, clock_->WallNs());
}

}  // namespace pitwall
