#include "services/codec/json/json_writer.h"

#include <algorithm>
#include <cmath>

#include "services/base/text/shortest_decimal.h"
#include "services/base/text/strings.h"
#include "services/base/text/utf8.h"

namespace pitwall::codec {
namespace {

// Returns true for a single-byte character that does not need an escape sequence.
constexpr bool IsPlain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

}  // namespace

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) out_.push_back(',');
  first_ = false;
}

void JsonWriter::Begin(char c) {
  Separate();
  out_.push_back(c);
  first_ = true;
}

void JsonWriter::End(char c) {
  out_.push_back(c);
  first_ = false;
}

void JsonWriter::Key(std::string_view name) {
  Separate();
  Quoted(name);
  out_.push_back(':');
  after_key_ = true;
}

void JsonWriter::Quoted(std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out_.push_back('"');
  while (!value.empty()) {
    size_t plain = 0;
    while (plain < value.size() && IsPlain(value[plain])) ++plain;
    out_.append(value.substr(0, plain));
    value.remove_prefix(plain);
    if (value.empty()) break;
    const size_t length = Utf8Length(value);
    if (length == 0) {
      out_.append("\xEF\xBF\xBD");
      value.remove_prefix(1);
      continue;
    }
    const char c = value[0];
    if (length > 1) {
      out_.append(value.substr(0, length));
    } else if (c == '"' || c == '\\') {
      out_.push_back('\\');
      out_.push_back(c);
    } else if (c == '\n') {
      out_.append("\\n");
    } else if (c == '\r') {
      out_.append("\\r");
    } else if (c == '\t') {
      out_.append("\\t");
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out_.append("\\u00");
      out_.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out_.push_back(kHex[static_cast<unsigned char>(c) & 15]);
    } else {
      out_.push_back(c);
    }
    value.remove_prefix(length);
  }
  out_.push_back('"');
}

void JsonWriter::String(std::string_view value) {
  Separate();
  Quoted(value);
}

void JsonWriter::Uint(uint64_t value) {
  Separate();
  CatTo(out_, value);
}

void JsonWriter::Int(int64_t value) {
  Separate();
  CatTo(out_, value);
}

void JsonWriter::Null() {
  Separate();
  out_.append("null");
}

void JsonWriter::Raw(std::string_view json) {
  Separate();
  out_.append(json);
}

void JsonWriter::Bool(bool value) {
  Separate();
  out_.append(value ? "true" : "false");
}

void JsonWriter::Double(double value) {
  if (!std::isfinite(value)) {
    String(FormatDouble(value));
    return;
  }
  Separate();
  // Many readers parse "-0" as an integer and lose the sign.
  if (value == 0 && std::signbit(value)) {
    out_.append("-0.0");
  } else {
    AppendDouble(value, &out_);
  }
}

void JsonWriter::Numbers(std::span<const double> values) {
  constexpr size_t kAtOnce = 128;
  BeginArray();
  bool first = true;
  for (; !values.empty(); values = values.subspan(std::min(kAtOnce, values.size()))) {
    const std::span<const double> some = values.first(std::min(kAtOnce, values.size()));
    const size_t before = out_.size();
    out_.resize(before + some.size() * (1 + kMostDoubleChars));
    char* to = &out_[before];
    for (const double value : some) {
      if (!first) *to++ = ',';
      first = false;
      if (!std::isfinite(value)) {
        to = std::copy_n("null", 4, to);
      } else if (value == 0 && std::signbit(value)) {
        to = std::copy_n("-0.0", 4, to);
      } else {
        to = WriteDouble(value, to);
      }
    }
    out_.resize(static_cast<size_t>(to - out_.data()));
  }
  EndArray();
}

void JsonWriter::Text(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  Key(key);
  String(value);
}

}  // namespace pitwall::codec
