// The processor's outputs, for the repair of a log.
#pragma once

#include "services/io/derived_outputs.h"

namespace pitwall::processor {

// Events and snapshots follow from telemetry. Dead letters share a topic with other partitions and
// are left alone.
DerivedOutputs OutputsOfTelemetry();

}  // namespace pitwall::processor
