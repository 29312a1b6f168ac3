#include "rules/templates/go_format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

// Maximum width in a format verb. It limits the padding that a template can request.
constexpr int kMaxWidth = 1000;

std::string Special(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

struct Verb {
  bool minus = false, plus = false, sharp = false, space = false, zero = false;
  int width = -1, precision = -1;
  char verb = 0;
};

std::string Pad(std::string text, const Verb& v, bool number) {
  // Go counts characters, not bytes.
  size_t length = 0;
  for (const char c : text) length += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  if (v.width < 0 || length >= static_cast<size_t>(v.width)) return text;
  const size_t missing = static_cast<size_t>(v.width) - length;
  if (v.minus) return text + std::string(missing, ' ');
  if (v.zero && number) {
    const bool sign = !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ');
    return text.substr(0, sign) + std::string(missing, '0') + text.substr(sign);
  }
  return std::string(missing, v.zero ? '0' : ' ') + text;
}

std::string WithSign(std::string text, const Verb& v) {
  if (text[0] == '-' || text[0] == '+') return text;
  if (v.plus) return "+" + text;
  if (v.space) return " " + text;
  return text;
}

std::string Wrong(char verb, const Value& value) {
  std::string out = "%!";
  out += verb;
  CatTo(out, "(", GoType(value), std::holds_alternative<Nil>(value) ? "" : "=",
        std::holds_alternative<Nil>(value) ? "" : GoText(value), ")");
  return out;
}

std::string Integer(int64_t value, const Verb& v) {
  const uint64_t magnitude =
      value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  int base = 10;
  if (v.verb == 'x' || v.verb == 'X') base = 16;
  if (v.verb == 'o') base = 8;
  if (v.verb == 'b') base = 2;
  std::array<char, 72> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base);
  std::string digits(buffer.data(), end.ptr);
  if (v.verb == 'X') {
    for (char& c : digits) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (v.precision > 0 && digits.size() < static_cast<size_t>(v.precision)) {
    digits.insert(0, static_cast<size_t>(v.precision) - digits.size(), '0');
  }
  return Pad(WithSign((value < 0 ? "-" : "") + digits, v), v, true);
}

std::string Format(const Verb& v, const Value& value) {
  if (v.verb == 'T') return Pad(std::string(GoType(value)), v, false);
  if (const auto* d = std::get_if<double>(&value)) {
    if (std::string_view("veEfFgG").find(v.verb) == std::string_view::npos) {
      return Wrong(v.verb, value);
    }
    if (!std::isfinite(*d)) {
      Verb plain = v;
      plain.zero = false;
      std::string text = Special(*d);
      if (std::isnan(*d)) text = WithSign(std::move(text), v);
      return Pad(std::move(text), plain, false);
    }
    const char verb = v.verb == 'v' ? 'g' : v.verb;
    std::string text;
    if ((verb == 'g' || verb == 'G') && v.precision < 0) {
      text = GoNumber(*d);
      if (verb == 'G') {
        for (char& c : text) c = c == 'e' ? 'E' : c;
      }
    } else {
      text = GoFloat(*d, verb, v.precision < 0 ? 6 : v.precision);
    }
    return Pad(WithSign(std::move(text), v), v, true);
  }
  if (const auto* i = std::get_if<int64_t>(&value)) {
    if (v.verb == 'c' && *i > 0 && *i < 128) {
      return Pad(std::string(1, static_cast<char>(*i)), v, false);
    }
    if (std::string_view("vdxXob").find(v.verb) == std::string_view::npos) {
      return Wrong(v.verb, value);
    }
    return Integer(*i, v);
  }
  if (const auto* b = std::get_if<bool>(&value)) {
    if (v.verb != 'v' && v.verb != 't') return Wrong(v.verb, value);
    return Pad(*b ? "true" : "false", v, false);
  }
  if (const auto* s = std::get_if<std::string>(&value)) {
    std::string text = *s;
    if (v.precision >= 0) {  // maximum number of characters
      size_t end = 0;
      for (int n = 0; end < text.size(); ++end) {
        if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && n++ == v.precision) break;
      }
      text.resize(end);
    }
    switch (v.verb) {
      case 'v':
      case 's':
        return Pad(std::move(text), v, false);
      case 'q':
        return Pad(GoQuote(text), v, false);
      case 'x':
        return Pad(Hex(text), v, false);
      default:
        return Wrong(v.verb, value);
    }
  }
  if (std::holds_alternative<Nil>(value)) {
    return v.verb == 'v' ? Pad("<nil>", v, false) : Wrong(v.verb, value);
  }
  return v.verb == 'v' || v.verb == 's' ? Pad(GoText(value), v, false) : Wrong(v.verb, value);
}

}  // namespace

std::string GoNumber(double value) {
  if (!std::isfinite(value)) return Special(value);
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific);
  const std::string_view scientific(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
  const size_t e = scientific.find('e');
  const int exponent = std::atoi(std::string(scientific.substr(e + 1)).c_str());
  // Go switches to exponent form at exponent 6, regardless of the number of digits.
  if (exponent < -4 || exponent >= 6) return std::string(scientific);
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return std::string(buffer.data(), fixed.ptr);
}

std::string GoFloat(double value, char verb, int precision) {
  if (!std::isfinite(value)) return Special(value);
  const char format[] = {'%', '.', '*', verb, 0};
  // A double has up to 309 digits before the decimal point, plus the precision.
  std::string out(static_cast<size_t>(precision) + 340, '\0');
  const int n = std::snprintf(out.data(), out.size(), format, precision, value);
  out.resize(static_cast<size_t>(n));
  return out;
}

std::string GoText(const Value& value) {
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* d = std::get_if<double>(&value)) return GoNumber(*d);
  if (const auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (std::holds_alternative<Nil>(value)) return "<no value>";
  return "map[]";
}

std::string_view GoType(const Value& value) {
  if (std::holds_alternative<std::string>(value)) return "string";
  if (std::holds_alternative<double>(value)) return "float64";
  if (std::holds_alternative<int64_t>(value)) return "int";
  if (std::holds_alternative<bool>(value)) return "bool";
  if (std::holds_alternative<Nil>(value)) return "<nil>";
  if (std::holds_alternative<SampleList>(value)) return "template.queryResult";
  if (std::holds_alternative<SampleRef>(value)) return "*template.sample";
  if (std::holds_alternative<SampleLabels>(value)) return "map[string]string";
  if (std::holds_alternative<Arguments>(value)) return "map[string]interface {}";
  switch (std::get<MapKind>(value)) {
    case MapKind::kRoot:
      return "struct { Labels, ExternalLabels, ExternalURL, Value }";
    case MapKind::kParams:
      return "map[string]float64";
    default:
      return "map[string]string";
  }
}

std::string GoQuote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (u < 0x20 || u == 0x7f) {
          CatTo(out, "\\x", Hex(std::string_view(&c, 1)));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string GoPrintf(std::string_view format, std::span<const Value> arguments) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      out += format[i++];
      continue;
    }
    ++i;
    Verb v;
    for (; i < format.size(); ++i) {
      const char c = format[i];
      if (c == '-') {
        v.minus = true;
      } else if (c == '+') {
        v.plus = true;
      } else if (c == '#') {
        v.sharp = true;
      } else if (c == ' ') {
        v.space = true;
      } else if (c == '0') {
        v.zero = true;
      } else {
        break;
      }
    }
    const auto number = [&](int* n) {
      for (; i < format.size() && format[i] >= '0' && format[i] <= '9'; ++i) {
        *n = std::min(kMaxWidth, (*n < 0 ? 0 : *n) * 10 + (format[i] - '0'));
      }
    };
    number(&v.width);
    if (i < format.size() && format[i] == '.') {
      ++i;
      v.precision = 0;
      number(&v.precision);
    }
    if (v.minus) v.zero = false;
    if (i == format.size()) {
      out += "%!(NOVERB)";
      break;
    }
    v.verb = format[i++];
    if (v.verb == '%') {
      out += '%';
    } else if (next == arguments.size()) {
      CatTo(out, "%!", std::string(1, v.verb), "(MISSING)");
    } else {
      out += Format(v, arguments[next++]);
    }
  }
  if (next < arguments.size()) {
    out += "%!(EXTRA ";
    for (size_t k = next; k < arguments.size(); ++k) {
      if (k > next) out += ", ";
      CatTo(out, GoType(arguments[k]), "=", GoText(arguments[k]));
    }
    out += ")";
  }
  return out;
}

std::string GoPrint(std::span<const Value> arguments, bool line) {
  std::string out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool strings = i > 0 && (std::holds_alternative<std::string>(arguments[i]) ||
                                   std::holds_alternative<std::string>(arguments[i - 1]));
    if (i > 0 && (line || !strings)) out += ' ';
    out += std::holds_alternative<Nil>(arguments[i]) ? "<nil>" : GoText(arguments[i]);
  }
  if (line) out += '\n';
  return out;
}

}  // namespace pitwall::templates
