// List of topics that the processor writes. Used to repair a log.
#pragma once

#include "services/io/derived_outputs.h"

namespace pitwall::processor {

// Returns the topics with records derived from telemetry: events and snapshots. The list excludes
// dead letters because all partitions share one dead-letter topic.
DerivedOutputs OutputsOfTelemetry();

}  // namespace pitwall::processor
