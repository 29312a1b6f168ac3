// Control records that the owner of a partition appends to pitwall.telemetry.
#pragma once

#include <string>

#include "services/base/time.h"
#include "services/io/io.h"

namespace pitwall::processor {

// Returns the record for a clock tick. `elapsed` is the monotonic time since the previous tick.
OutgoingRecord ClockTickRecord(const TopicPartition& input, Duration elapsed);
// Returns the record that activates a rule set at the first tick after the record.
OutgoingRecord RuleChangeRecord(const TopicPartition& input, const std::string& rule_set_hash);

}  // namespace pitwall::processor
