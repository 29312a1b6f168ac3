#include "services/codec/imports/cells/date_time.h"

#include <string>

#include "absl/time/time.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Parses a number with exactly `digits` digits at the start of `text`, and removes the number from
// `text`.
std::optional<int32_t> TakeDigits(std::string_view* text, size_t digits) {
  if (text->size() < digits) return std::nullopt;
  int32_t number = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (!IsDigit((*text)[i])) return std::nullopt;
    number = number * 10 + ((*text)[i] - '0');
  }
  text->remove_prefix(digits);
  return number;
}

bool TakeOneOf(std::string_view* text, std::string_view characters) {
  if (text->empty() || characters.find((*text)[0]) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

// Parses a fraction of a second as nanoseconds, and removes it from the text. Digits beyond
// nanoseconds are dropped.
std::optional<int64_t> TakeFraction(std::string_view* text) {
  if (!TakeOneOf(text, ".,")) return 0;
  if (text->empty() || !IsDigit((*text)[0])) return std::nullopt;
  int64_t nanos = 0, unit = 100'000'000;
  for (; !text->empty() && IsDigit((*text)[0]); unit /= 10, text->remove_prefix(1))
    nanos += unit * ((*text)[0] - '0');
  return nanos;
}

// Parses year, month, and day, and removes them from the text.
std::optional<absl::CivilDay> TakeDate(std::string_view* text) {
  const auto year = TakeDigits(text, 4);
  if (!year || text->empty()) return std::nullopt;
  const char separator = (*text)[0];
  if (!TakeOneOf(text, "-/")) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!month || !TakeOneOf(text, {&separator, 1})) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!day) return std::nullopt;
  const absl::CivilDay date(*year, *month, *day);
  // absl::CivilDay normalizes a day that does not exist, such as February 30, to another day.
  if (date.month() != *month || date.day() != *day) return std::nullopt;
  return date;
}

// Parses hours, minutes, and seconds as seconds since midnight, and removes them from the text.
std::optional<int64_t> TakeTime(std::string_view* text) {
  const auto hour = TakeDigits(text, 2);
  if (!hour || *hour > 23 || !TakeOneOf(text, ":")) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!minute || *minute > 59 || !TakeOneOf(text, ":")) return std::nullopt;
  const auto second = TakeDigits(text, 2);
  if (!second || *second > 60) return std::nullopt;
  return *hour * 3600 + *minute * 60 + *second;
}

}  // namespace

std::optional<int32_t> ParseZone(std::string_view text) {
  if (text == "Z" || text == "z" || text == "UTC" || text == "GMT") return 0;
  const bool west = !text.empty() && text[0] == '-';
  if (!TakeOneOf(&text, "+-")) return std::nullopt;
  const auto hours = TakeDigits(&text, 2);
  const bool colon = TakeOneOf(&text, ":");
  const auto minutes = text.empty() && !colon ? std::optional(0) : TakeDigits(&text, 2);
  if (!hours || !minutes || !text.empty() || *hours > 15 || *minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

std::optional<int64_t> ParseDateTime(std::string_view text, int32_t offset_s) {
  text = Trim(text);
  const auto date = TakeDate(&text);
  if (!date || !TakeOneOf(&text, "Tt ")) return std::nullopt;
  text = Trim(text);
  const auto seconds = TakeTime(&text);
  const auto nanos = seconds ? TakeFraction(&text) : std::nullopt;
  if (!nanos) return std::nullopt;
  if (const std::string_view zone = Trim(text); !zone.empty()) {
    const auto given = ParseZone(zone);
    if (!given) return std::nullopt;
    offset_s = *given;
  }
  const int64_t days = *date - absl::CivilDay(1970, 1, 1);
  constexpr int64_t kMaxDays = kMaxPosition / 86'400'000'000'000;
  if (days <= -kMaxDays || days >= kMaxDays) return std::nullopt;
  return (days * 86'400 + *seconds - offset_s) * 1'000'000'000 + *nanos;
}

}  // namespace pitwall::imports
