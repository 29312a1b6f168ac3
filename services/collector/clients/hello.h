// The hello of a client: checks, and the claim and job events that follow from it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/status.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/processes/peer_process.h"
#include "services/collector/publishing/client_cursors.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// InvalidArgument: unknown protocol, a missing field, or a text that is too long or has control
// characters.
Status CheckHello(const client::v1::Hello& hello);

// Claim of a checked hello, except its reference and its launcher. Process and owner are those that
// the kernel reports: the client may be in another namespace.
JobClaim ClaimOf(const client::v1::Hello& hello, const Peer& peer);

// Events that the source must announce: the start of a new job, or new labels of a known one.
std::vector<JobEvent> StartEvents(const client::v1::Hello& hello, const JobClaim& claim,
                                  const JobRegistry::Claimed& claimed);

// First batch sequence of a client whose hello came `late_ns` after its start. It is above all
// sequences that a previous collector can have used; `known` is the cursor from that one, if any.
uint64_t FirstSequence(int64_t late_ns, const std::optional<ClientCursor>& known);

}  // namespace pitwall::collector
