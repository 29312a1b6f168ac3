#include "services/collector/clients/hello.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/collector/ranks/client_update.h"
#include "services/model/owner.h"
#include "services/model/sanitize_text.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr uint32_t kProtocol = 1;
constexpr int kMaxHelloLabels = 64;
// If a client sends its hello later than this after its start, a previous collector may already
// know the client.
constexpr int64_t kFreshNs = kNanosPerSecond;
// Time per sequence number. Clients send less often than this, so the elapsed time in this unit
// exceeds all earlier sequences and can be used as the first sequence.
constexpr int64_t kSequenceUnitNs = 10 * kNanosPerMilli;

Status CheckHelloLabel(const pb::Label& label) {
  if (label.name().empty() || label.name().size() > kMaxClientText ||
      label.value().size() > kMaxClientText) {
    return InvalidArgument(Cat("hello: invalid label ", Quote(label.name().substr(0, 100))));
  }
  if (HasControl(label.name())) {
    return InvalidArgument(Cat("hello: label ", Quote(TerminalLine(label.name())),
                               " must not contain control characters"));
  }
  return OkStatus();
}

}  // namespace

Status CheckHello(const pb::Hello& hello) {
  if (hello.protocol() != kProtocol) {
    return InvalidArgument(
        Cat("hello: protocol must be ", kProtocol, " (got ", hello.protocol(), ")"));
  }
  if (hello.boot_id().empty()) return InvalidArgument("hello: boot_id must not be empty");
  if (hello.start_unix_ns() <= 0)
    return InvalidArgument("hello: start_unix_ns must be greater than 0");
  if (hello.labels_size() > kMaxHelloLabels) {
    return InvalidArgument(Cat("hello: at most ", kMaxHelloLabels, " labels are allowed (got ",
                               hello.labels_size(), ")"));
  }
  for (const std::string* text :
       {&hello.job_id(), &hello.job_name(), &hello.boot_id(), &hello.client(), &hello.platform(),
        &hello.cluster(), &hello.namespace_(), &hello.kind(), &hello.uid(), &hello.queue()}) {
    if (text->size() > kMaxClientText)
      return InvalidArgument(
          Cat("hello: a field has ", text->size(), " bytes; the limit is ", kMaxClientText));
    if (HasControl(*text))
      return InvalidArgument(
          Cat("hello: ", Quote(TerminalLine(*text)), " must not contain control characters"));
  }
  for (const pb::Label& label : hello.labels()) RETURN_IF_ERROR(CheckHelloLabel(label));
  return OkStatus();
}

JobClaim ClaimOf(const pb::Hello& hello, const Peer& peer) {
  JobClaim claim;
  claim.job_id = hello.job_id();
  claim.job_name = hello.job_name();
  claim.job_start_ns = hello.job_start_unix_ns();
  claim.client_start_ns = hello.start_unix_ns();
  for (const pb::Label& label : hello.labels())
    claim.labels.push_back({label.name(), SanitizeText(label.value())});
  claim.rank = hello.rank();
  claim.world_size = hello.world_size();
  claim.boot_id = hello.boot_id();
  claim.pid = peer.pid;
  claim.user = peer.uid;
  claim.owner = OwnerOf(peer.uid, peer.pod);
  return claim;
}

std::vector<JobEvent> StartEvents(const pb::Hello& hello, const JobClaim& claim,
                                  const JobRegistry::Claimed& claimed) {
  if (!claimed.first && claimed.news.empty()) return {};
  JobEvent started;
  started.kind = JobEvent::Kind::kStarted;
  if (claimed.first) {
    started.time = EventTime::FromNs(hello.job_start_unix_ns() > 0 ? hello.job_start_unix_ns()
                                                                   : hello.start_unix_ns());
    started.name = hello.job_name();
    started.reference = claim.reference;
    started.labels = claim.labels;
  } else {
    started.time = EventTime::FromNs(hello.start_unix_ns());
    started.labels = claimed.news;
  }
  std::vector<JobEvent> events;
  events.push_back(std::move(started));
  return events;
}

uint64_t FirstSequence(int64_t late_ns, const std::optional<ClientCursor>& known) {
  uint64_t first = 1;
  if (late_ns > kFreshNs) first += static_cast<uint64_t>(late_ns / kSequenceUnitNs);
  return known.has_value() ? std::max(first, known->batch + 1) : first;
}

}  // namespace pitwall::collector
