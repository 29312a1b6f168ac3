// Appends the records of a telemetry script to a log.
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/status.h"
#include "services/io/io.h"
#include "tests/telemetry_script/scripted_sources.h"

namespace pitwall::telemetry_script {

// Appends the records to a partition of pitwall.telemetry in their order, at most 500 at a time.
// The log assigns the append times.
Status AppendTo(Log* log, int32_t partition, const std::vector<ScriptRecord>& records);

}  // namespace pitwall::telemetry_script
