// Control records that the owner of a partition appends to pitwall.telemetry.
#pragma once

#include <cstdint>
#include <string>

#include "services/io/io.h"

namespace pitwall::processor {

// Returns the record for a clock tick, `elapsed_ns` of monotonic time after the previous tick.
OutgoingRecord ClockTickRecord(const TopicPartition& input, int64_t elapsed_ns);
// Returns the record that activates a rule set at the first tick after the record.
OutgoingRecord RuleChangeRecord(const TopicPartition& input, const std::string& rule_set_hash);

}  // namespace pitwall::processor
