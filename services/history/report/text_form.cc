#include "services/history/report/text_form.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/time/time.h"
#include "services/base/text/markup.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kNothing = "–";

std::string Printed(const char* format, double value) {
  char buffer[64];
  const int length = std::snprintf(buffer, sizeof buffer, format, value);
  return {buffer, static_cast<size_t>(length)};
}

std::string Grouped(int64_t value) {
  std::string digits = Cat(value);
  const size_t begin = value < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > begin + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// Formats a number with four significant digits below 1,000, and as an integer up to 1e9.
std::string Digits(double value) {
  const double size = std::fabs(value);
  if (size >= 1000 && size < 1e9) return Grouped(std::llround(value));
  return Printed("%.4g", value);
}

std::string Seconds(double value) {
  const double size = std::fabs(value);
  if (size == 0) return "0 s";
  if (size < 1e-3) return Cat(Digits(value * 1e6), " µs");
  if (size < 1) return Cat(Digits(value * 1e3), " ms");
  if (size < 60) return Cat(Digits(value), " s");
  const auto whole = static_cast<int64_t>(std::llround(size));
  const std::string sign = value < 0 ? "−" : "";
  if (whole >= 86'400) return Cat(sign, whole / 86'400, " d ", whole / 3600 % 24, " h");
  if (whole >= 3600) return Cat(sign, whole / 3600, " h ", whole / 60 % 60, " min");
  return Cat(sign, whole / 60, " min ", whole % 60, " s");
}

std::string ShownNumber(double value, Unit unit) {
  if (std::isnan(value)) return std::string(kNothing);
  if (std::isinf(value)) return value > 0 ? "+∞" : "−∞";
  switch (unit) {
    case Unit::kRatio:
      return Cat(Printed(value != 0 && std::fabs(value) < 0.09995 ? "%.2f" : "%.1f", value * 100),
                 "%");
    case Unit::kSeconds:
      return Seconds(value);
    case Unit::kBytes:
      return FormatBytes(value);
    case Unit::kByteRate:
      return Cat(FormatBytes(value), "/s");
    default:
      return Digits(value);
  }
}

// Returns the length of the UTF-8 sequence at the start of the text, or 0 if the sequence is
// invalid.
size_t SequenceLength(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  if (length == 3 && ((first == 0xE0 && at(1) < 0xA0) || (first == 0xED && at(1) >= 0xA0)))
    return 0;
  if (length == 4 && ((first == 0xF0 && at(1) < 0x90) || (first == 0xF4 && at(1) >= 0x90)))
    return 0;
  return length;
}

uint32_t CodePoint(std::string_view sequence) {
  auto code = static_cast<uint32_t>(static_cast<unsigned char>(sequence[0]));
  if (sequence.size() > 1) code &= 0x7Fu >> sequence.size();
  for (size_t i = 1; i < sequence.size(); ++i)
    code = code << 6 | (static_cast<unsigned char>(sequence[i]) & 0x3Fu);
  return code;
}

// Returns true for characters that affect the display of other text: control characters,
// embeddings, overrides, and isolates.
bool IsUnseen(uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0) ||
         code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  size_t at = 0;
  while (at < text.size() && at < kMaxText) {
    const size_t length = SequenceLength(text.substr(at));
    if (length == 0) {
      out += "\uFFFD";
      ++at;
      continue;
    }
    const std::string_view sequence = text.substr(at, length);
    const uint32_t code = CodePoint(sequence);
    at += length;
    if (IsUnseen(code)) {
      char buffer[16];
      std::snprintf(buffer, sizeof buffer, "[U+%04X]", code);
      out += buffer;
      continue;
    }
    const std::string_view entity = code < 0x80 ? MarkupEntity(static_cast<char>(code)) : "";
    out += entity.empty() ? sequence : entity;
  }
  if (at < text.size()) CatTo(out, " … (", text.size() - at, " more bytes)");
  return out;
}

std::string ShownUtc(int64_t ns) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixNanos(ns), absl::UTCTimeZone());
}

std::string Shown(const Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    if (text->empty()) return std::string(kNothing);
    std::string out = *text;
    if (unit == Unit::kWord) std::replace(out.begin(), out.end(), '_', ' ');
    return out;
  }
  if (const auto* integer = std::get_if<int64_t>(&cell)) {
    if (unit == Unit::kTime) return ShownUtc(*integer);
    return unit == Unit::kBytes ? FormatBytes(static_cast<double>(*integer)) : Grouped(*integer);
  }
  if (const auto* number = std::get_if<double>(&cell)) return ShownNumber(*number, unit);
  return std::string(kNothing);
}

std::string Exact(const Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* integer = std::get_if<int64_t>(&cell))
    return unit == Unit::kTime ? cloudevents::FormatTime(*integer) : Cat(*integer);
  if (const auto* number = std::get_if<double>(&cell)) return FormatDouble(*number);
  return "";
}

}  // namespace pitwall::history
