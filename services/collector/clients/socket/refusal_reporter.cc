#include "services/collector/clients/socket/refusal_reporter.h"

#include <sys/socket.h>

#include <string>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/clients/socket/message_frame.h"
#include "services/model/owner.h"

namespace pitwall::collector {

void RefusalReporter::Report(int fd, const Peer& peer, std::string_view owner,
                             const Status& refused) {
  const Refusal why = RefusalOf(refused);
  counters_->CountRefused(why, OwnerClass(owner));
  client::v1::CollectorMessage message;
  message.mutable_refused()->set_reason(std::string(RefusalName(why)));
  message.mutable_refused()->set_message(std::string(ToStd(refused.message()).substr(0, 2048)));
  // The refusal is dropped if the socket buffer is full, because the server never waits for a
  // client.
  (void)SendFramed(fd, message.SerializeAsString());
  const auto suppressed = logged_[static_cast<size_t>(why)].Admit(clock_.MonotonicNs());
  if (!suppressed.has_value()) return;
  PITWALL_LOG(kWarning, "collector", "refused a client (", RefusalName(why), ", pid ", peer.pid,
              ", ", owner, "): ", ToStd(refused.message()),
              *suppressed == 0 ? std::string()
                               : Cat(" (and ", *suppressed, " more since the last log line)"));
}

}  // namespace pitwall::collector
