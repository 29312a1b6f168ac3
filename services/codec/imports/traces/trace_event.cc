#include "services/codec/imports/traces/trace_event.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/lenient/json_text.h"
#include "services/codec/openmetrics/line_parser.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

using Json = nlohmann::json;

std::string Text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.is_number() ? value.dump() : std::string();
}

std::string Member(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found == event.end() ? std::string() : Text(*found);
}

// Converts decimal microseconds to nanoseconds without floating-point rounding.
StatusOr<int64_t> MicrosOfText(const std::string& text, const char* key) {
  const std::string_view number = Trim(text);
  const bool decimal = !number.empty() && number.find_first_not_of("-0123456789.") == number.npos;
  const auto nanos = decimal ? openmetrics::ParseSeconds(Cat(number, "e-6")) : std::nullopt;
  if (!nanos) return InvalidArgument(Cat(key, " ", Quote(text), " is not a number"));
  return *nanos;
}

// Converts whole or fractional microseconds to nanoseconds.
StatusOr<int64_t> Micros(const Json& event, const char* key) {
  const auto found = event.find(key);
  if (found != event.end() && found->is_string())
    return MicrosOfText(found->get_ref<const std::string&>(), key);
  if (found == event.end() || !found->is_number())
    return InvalidArgument(Cat("event has no numeric ", key));
  const double micros = found->get<double>();
  // Larger values do not fit into 64-bit nanoseconds.
  if (!(std::fabs(micros) < static_cast<double>(kMaxPosition / 1000)))
    return InvalidArgument(Cat(key, " ", found->dump(), " is out of range"));
  if (found->is_number_integer()) return found->get<int64_t>() * 1000;
  const double whole = std::floor(micros);
  return static_cast<int64_t>(whole) * 1000 + std::llround((micros - whole) * 1000);
}

Status ReadTimes(const Json& json, TraceEvent* event) {
  ASSIGN_OR_RETURN(event->start_ns, Micros(json, "ts"));
  if (event->phase != 'X') return OkStatus();
  ASSIGN_OR_RETURN(event->duration_ns, Micros(json, "dur"));
  if (event->duration_ns < 0) return InvalidArgument("event has a negative dur");
  return OkStatus();
}

}  // namespace

StatusOr<std::optional<TraceEvent>> ReadTraceEvent(std::string_view json) {
  const Json event = lenient::ParseJson(json);
  if (!event.is_object()) return InvalidArgument("not JSON");
  const std::string phase = Member(event, "ph");
  if (phase != "M" && phase != "X" && phase != "B" && phase != "E")
    return std::optional<TraceEvent>();
  TraceEvent read;
  read.phase = phase[0];
  read.name = Member(event, "name");
  read.category = Member(event, "cat");
  read.pid = Member(event, "pid");
  read.tid = Member(event, "tid");
  if (phase != "M") read.times = ReadTimes(event, &read);
  if (const auto args = event.find("args"); args != event.end() && args->is_object()) {
    for (const auto& [key, value] : args->items()) {
      if (std::string text = Text(value); !text.empty()) read.args.emplace_back(key, text);
    }
  }
  return std::optional(std::move(read));
}

}  // namespace pitwall::imports
