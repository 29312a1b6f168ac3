// Validation of client updates, and conversion of their spans and values.
#pragma once

#include <cstdint>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/status.h"
#include "services/codec/steps/step_series.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Maximum length of a string from a client, in bytes.
inline constexpr size_t kMaxClientText = 1024;

// Returns InvalidArgument with the reason if any part of the update is invalid.
Status CheckUpdate(const client::v1::Update& update);

// Returns the step from an update's field; 0 means no step.
int64_t StepOf(uint64_t step_plus_one);
// Converts a valid span. A step's span has no name.
Span SpanOf(const client::v1::Span& in);
// Converts a valid value. Sets all fields of `out` and reuses its memory.
void Convert(const client::v1::Value& in, steps::LoggedValue* out);

}  // namespace pitwall::collector
