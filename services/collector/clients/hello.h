// Validation of a client's hello, and the claim and job events derived from it.
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

// Validates a hello. Returns InvalidArgument for an unknown protocol, a missing field, or text that
// is too long or contains control characters.
Status CheckHello(const client::v1::Hello& hello);

// Returns the claim in a validated hello, without the reference and the launcher. The process and
// owner come from the kernel, because the client may be in another namespace.
JobClaim ClaimOf(const client::v1::Hello& hello, const Peer& peer);

// Returns the events that the source must announce: the start of a new job, or new labels for a
// known job.
std::vector<JobEvent> StartEvents(const client::v1::Hello& hello, const JobClaim& claim,
                                  const JobRegistry::Claimed& claimed);

// Returns the first batch sequence for a client that sent its hello `late_ns` after its start. It
// exceeds any sequence that a previous collector may have used. `known` is the cursor from that
// collector, if there is one.
uint64_t FirstSequence(int64_t late_ns, const std::optional<ClientCursor>& known);

}  // namespace pitwall::collector
