// Outputs of the processor, for the repair of a log.
#pragma once

#include "services/io/derived_outputs.h"

namespace pitwall::processor {

// Returns the topics that are derived from telemetry: events and snapshots. Dead letters share a
// topic with other partitions and are kept.
DerivedOutputs OutputsOfTelemetry();

}  // namespace pitwall::processor
