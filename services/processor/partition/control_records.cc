#include "services/processor/partition/control_records.h"

#include <utility>

#include "services/codec/telemetry_codec.h"
#include "services/io/topics.h"

namespace pitwall::processor {

namespace {

OutgoingRecord Encode(const TopicPartition& input, const ControlRecord& control) {
  std::string value;
  codec::EncodeControl(control, &value);
  return {.topic = input.topic,
          .partition = input.partition,
          .key = std::string(kControlKey),
          .value = std::move(value)};
}

}  // namespace

OutgoingRecord ClockTickRecord(const TopicPartition& input, Duration elapsed) {
  return Encode(input, {.kind = ControlRecord::Kind::kClockTick, .elapsed = elapsed});
}

OutgoingRecord RuleChangeRecord(const TopicPartition& input, const std::string& rule_set_hash) {
  return Encode(input,
                {.kind = ControlRecord::Kind::kRuleSetChange, .rule_set_hash = rule_set_hash});
}

}  // namespace pitwall::processor
