// Topics that the processor writes, for repairing a log.
#pragma once

#include "services/io/derived_outputs.h"

namespace pitwall::processor {

// Returns the topics that are derived from telemetry: events and snapshots. Dead letters are not
// included because all partitions share one topic for them.
DerivedOutputs OutputsOfTelemetry();

}  // namespace pitwall::processor
