// Template functions from Go and Prometheus.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "absl/time/civil_time.h"
#include "rules/templates/template_tree.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/issues/capture_pattern.h"

namespace pitwall::templates {
namespace {

using Arguments = std::span<const Value>;
using Result = StatusOr<Value>;

StatusOr<std::string> StringOf(const Value& value) {
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return InvalidArgument(Cat("wrong type for value; expected string; got ", GoType(value)));
}

// Returns the argument of a humanizing function, which is a number or a string that parses as a
// number.
StatusOr<double> NumberOf(const Value& value) {
  if (const auto* d = std::get_if<double>(&value)) return *d;
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* s = std::get_if<std::string>(&value)) {
    if (const auto number = ParseDouble(*s)) return *number;
    return InvalidArgument(Cat("strconv.ParseFloat: parsing ", Quote(*s), ": invalid syntax"));
  }
  return InvalidArgument(Cat("can't convert ", GoType(value), " to float"));
}

std::string Short(double v) { return GoFloat(v, 'g', 4); }

// Formats a number with unit prefixes: 1234 with {"k", "M", …} and 1000 becomes "1.234k".
std::string Scaled(double v, double unit, std::span<const std::string_view> prefixes, bool up) {
  std::string_view prefix;
  for (const std::string_view p : prefixes) {
    if (up ? std::fabs(v) < unit : std::fabs(v) >= 1) break;
    prefix = p;
    v = up ? v / unit : v * unit;
  }
  return Cat(Short(v), prefix);
}
constexpr std::array<std::string_view, 8> kLarge = {"k", "M", "G", "T", "P", "E", "Z", "Y"};
constexpr std::array<std::string_view, 8> kBinary = {"ki", "Mi", "Gi", "Ti",
                                                     "Pi", "Ei", "Zi", "Yi"};
constexpr std::array<std::string_view, 8> kSmall = {"m", "u", "n", "p", "f", "a", "z", "y"};

Result Humanize(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const double v, NumberOf(a[0]));
  if (v == 0 || !std::isfinite(v)) return Value(Short(v));
  if (std::fabs(v) >= 1) return Value(Scaled(v, 1000, kLarge, true));
  return Value(Scaled(v, 1000, kSmall, false));
}

Result Humanize1024(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const double v, NumberOf(a[0]));
  if (std::fabs(v) <= 1 || !std::isfinite(v)) return Value(Short(v));
  return Value(Scaled(v, 1024, kBinary, true));
}

Result HumanizeDuration(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(double v, NumberOf(a[0]));
  if (!std::isfinite(v)) return Value(Short(v));
  if (v == 0) return Value(Short(v) + "s");
  if (std::fabs(v) < 1) return Value(Scaled(v, 1000, kSmall, false) + "s");
  const std::string_view sign = v < 0 ? "-" : "";
  v = std::fabs(v);
  constexpr double kFar =
      9e18;  // above this value, the number of days overflows an integer, which is undefined in Go
  const auto whole = static_cast<int64_t>(std::min(v, kFar));
  const int64_t seconds = whole % 60, minutes = whole / 60 % 60, hours = whole / 3600 % 24,
                days = whole / 86400;
  if (days != 0) return Value(Cat(sign, days, "d ", hours, "h ", minutes, "m ", seconds, "s"));
  if (hours != 0) return Value(Cat(sign, hours, "h ", minutes, "m ", seconds, "s"));
  if (minutes != 0) return Value(Cat(sign, minutes, "m ", seconds, "s"));
  return Value(Cat(sign, Short(v), "s"));
}

Result HumanizePercentage(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const double v, NumberOf(a[0]));
  return Value(Short(v * 100) + "%");
}

Result HumanizeTimestamp(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const double v, NumberOf(a[0]));
  if (!std::isfinite(v)) return Value(Short(v));
  if (v * 1e9 >= 9223372036854775807.0 || v * 1e9 < -9223372036854775808.0) {
    return InvalidArgument(Cat(
        GoNumber(v), " cannot be represented as a nanoseconds timestamp since it overflows int64"));
  }
  int64_t millis = static_cast<int64_t>(v * 1e9) / 1'000'000;
  int64_t seconds = millis / 1000;
  millis %= 1000;
  if (millis < 0) {
    millis += 1000;
    --seconds;
  }
  const absl::CivilSecond t = absl::CivilSecond(1970, 1, 1) + seconds;
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%04lld-%02d-%02d %02d:%02d:%02d",
                static_cast<long long>(t.year()), t.month(), t.day(), t.hour(), t.minute(),
                t.second());
  std::string out = buffer.data();
  if (millis != 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%03d", static_cast<int>(millis));
    std::string fraction = buffer.data();
    while (fraction.back() == '0') fraction.pop_back();
    out += fraction;
  }
  return Value(out + " +0000 UTC");
}

// Converts the case of ASCII letters only.
Result ToUpper(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(std::string s, StringOf(a[0]));
  for (char& c : s) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return Value(std::move(s));
}
Result ToLower(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(std::string s, StringOf(a[0]));
  for (char& c : s) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return Value(std::move(s));
}
// Capitalizes the first letter of each word.
Result Title(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(std::string s, StringOf(a[0]));
  const auto part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  bool inside = false;
  for (size_t i = 0; i < s.size(); ++i) {
    // An apostrophe, period, or colon between letters does not end a word.
    const bool joint = inside && (s[i] == '\'' || s[i] == '.' || s[i] == ':') && i + 1 < s.size() &&
                       part(s[i + 1]);
    if (!inside && s[i] >= 'a' && s[i] <= 'z') s[i] = static_cast<char>(s[i] - 32);
    inside = part(s[i]) || joint;
  }
  return Value(std::move(s));
}

RE2::Options Quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

Result ReReplaceAll(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const std::string pattern, StringOf(a[0]));
  ASSIGN_OR_RETURN(const std::string replacement, StringOf(a[1]));
  ASSIGN_OR_RETURN(const std::string text, StringOf(a[2]));
  const RE2 re(pattern, Quiet());
  if (!re.ok())
    return InvalidArgument(Cat("bad regular expression ", Quote(pattern), ": ", re.error()));
  std::vector<re2::StringPiece> groups(static_cast<size_t>(re.NumberOfCapturingGroups()) + 1);
  std::string out;
  constexpr size_t kMax = 64 * 1024;
  size_t last_end = 0;  // end of the previous match
  for (size_t search = 0; search <= text.size() && out.size() <= kMax;) {
    if (!re.Match(text, search, text.size(), RE2::UNANCHORED, groups.data(),
                  static_cast<int>(groups.size()))) {
      break;
    }
    const auto from = static_cast<size_t>(groups[0].data() - text.data());
    const size_t to = from + groups[0].size();
    out.append(text, last_end, from - last_end);
    // As in Go, an empty match directly after another match does not count.
    if (to > last_end || from == 0) ExpandGroups(replacement, re, groups, kMax, &out);
    last_end = to;
    // The search position advances by at least one character.
    size_t next = search + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    search = std::max(next, to);
  }
  out.append(text, last_end);
  return Value(std::move(out));
}

Result Match(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const std::string pattern, StringOf(a[0]));
  ASSIGN_OR_RETURN(const std::string text, StringOf(a[1]));
  const RE2 re(pattern, Quiet());
  if (!re.ok())
    return InvalidArgument(Cat("bad regular expression ", Quote(pattern), ": ", re.error()));
  return Value(RE2::PartialMatch(text, re));
}

// Parses host:port or [v6]:port like net.SplitHostPort. Returns false for any other string.
bool SplitHostPort(std::string_view text, std::string_view* host, std::string_view* port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  *host = text.substr(0, colon);
  *port = text.substr(colon + 1);
  if (!host->empty() && host->front() == '[') {
    if (host->back() != ']') return false;
    *host = host->substr(1, host->size() - 2);
    return true;
  }
  return host->find(':') == std::string_view::npos && host->find(']') == std::string_view::npos;
}

bool IsAddress(std::string_view host) {
  // Host names contain no colon, so this is an IPv6 address.
  if (host.find(':') != std::string_view::npos) return true;
  const auto parts = Split(host, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view p) {
           const auto n = ParseInt(p);
           return n && *n >= 0 && *n <= 255 && p.size() <= 3;
         });
}

Result StripPort(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const std::string text, StringOf(a[0]));
  std::string_view host, port;
  return Value(SplitHostPort(text, &host, &port) ? std::string(host) : text);
}

Result StripDomain(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const std::string text, StringOf(a[0]));
  std::string_view host = text, port;
  if (!SplitHostPort(text, &host, &port)) {
    host = text;
    port = {};
  }
  if (IsAddress(host)) return Value(text);
  const std::string name(host.substr(0, host.find('.')));
  return Value(port.empty() ? name : Cat(name, ":", port));
}

Result ParseDurationOf(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const std::string text, StringOf(a[0]));
  const bool negative = !text.empty() && text[0] == '-';
  const StatusOr<int64_t> nanos = ParseDuration(std::string_view(text).substr(negative ? 1 : 0));
  if (!nanos.ok()) return InvalidArgument(Cat("not a valid duration string: ", Quote(text)));
  return Value((negative ? -1 : 1) * static_cast<double>(*nanos) / 1e9);
}

Result Now(const FunctionContext& context, Arguments) {
  return Value(static_cast<double>(context.input->time_ns / 1'000'000) / 1000.0);
}

Result Printf(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const std::string format, StringOf(a[0]));
  return Value(GoPrintf(format, a.subspan(1)));
}
Result Print(const FunctionContext&, Arguments a) { return Value(GoPrint(a, false)); }
Result Println(const FunctionContext&, Arguments a) { return Value(GoPrint(a, true)); }

Result Html(const FunctionContext&, Arguments a) {
  std::string out;
  for (const char c : GoPrint(a, false)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return Value(std::move(out));
}

Result UrlQuery(const FunctionContext&, Arguments a) {
  std::string out;
  for (const char c : GoPrint(a, false)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("-_.~").find(c) != std::string_view::npos) {
      out += c;
    } else if (c == ' ') {
      out += '+';
    } else {
      out += '%';
      for (const char h : Hex(std::string_view(&c, 1))) {
        out += static_cast<char>(std::toupper(static_cast<unsigned char>(h)));
      }
    }
  }
  return Value(std::move(out));
}

Result SafeHtml(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(std::string text, StringOf(a[0]));
  return Value(std::move(text));
}
Result Empty(const FunctionContext&, Arguments) { return Value(std::string()); }

Result Not(const FunctionContext& context, Arguments a) {
  return Value(!IsTrue(a[0], *context.input));
}

// Compares two values. Returns -1 (less), 0 (equal), 1 (greater), or 2 (unequal and unordered: NaN
// or bool). Integers and floats are compared as numbers.
StatusOr<int> Compare(const Value& a, const Value& b, bool equality) {
  const auto number = [](const Value& v) {
    return std::holds_alternative<double>(v) || std::holds_alternative<int64_t>(v);
  };
  if (number(a) && number(b)) {
    if (std::holds_alternative<int64_t>(a) && std::holds_alternative<int64_t>(b)) {
      const int64_t x = std::get<int64_t>(a), y = std::get<int64_t>(b);
      return x < y ? -1 : x > y ? 1 : 0;
    }
    const double x = *NumberOf(a), y = *NumberOf(b);
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  }
  if (a.index() != b.index()) {
    return InvalidArgument(
        Cat("incompatible types for comparison: ", GoType(a), " and ", GoType(b)));
  }
  if (const auto* x = std::get_if<std::string>(&a)) {
    const int order = x->compare(std::get<std::string>(b));
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (equality && std::holds_alternative<bool>(a)) {
    return std::get<bool>(a) == std::get<bool>(b) ? 0 : 2;
  }
  if (equality && std::holds_alternative<Nil>(a)) return 0;
  return InvalidArgument(Cat("invalid type for comparison: ", GoType(a)));
}

Result Eq(const FunctionContext&, Arguments a) {
  for (size_t i = 1; i < a.size(); ++i) {
    ASSIGN_OR_RETURN(const int order, Compare(a[0], a[i], true));
    if (order == 0) return Value(true);
  }
  return Value(false);
}
Result Ne(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const int order, Compare(a[0], a[1], true));
  return Value(order != 0);
}
Result Lt(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const int order, Compare(a[0], a[1], false));
  return Value(order == -1);
}
Result Le(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const int order, Compare(a[0], a[1], false));
  return Value(order == -1 || order == 0);
}
// As in Go, gt and ge are the negations of le and lt, so NaN is greater than everything.
Result Gt(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const int order, Compare(a[0], a[1], false));
  return Value(order != -1 && order != 0);
}
Result Ge(const FunctionContext&, Arguments a) {
  ASSIGN_OR_RETURN(const int order, Compare(a[0], a[1], false));
  return Value(order != -1);
}

constexpr TemplateFunction kFunctions[] = {
    {"humanize", 1, 1, Humanize},
    {"humanize1024", 1, 1, Humanize1024},
    {"humanizeDuration", 1, 1, HumanizeDuration},
    {"humanizePercentage", 1, 1, HumanizePercentage},
    {"humanizeTimestamp", 1, 1, HumanizeTimestamp},
    {"toUpper", 1, 1, ToUpper},
    {"toLower", 1, 1, ToLower},
    {"title", 1, 1, Title},
    {"reReplaceAll", 3, 3, ReReplaceAll},
    {"match", 2, 2, Match},
    {"stripPort", 1, 1, StripPort},
    {"stripDomain", 1, 1, StripDomain},
    {"parseDuration", 1, 1, ParseDurationOf},
    {"now", 0, 0, Now},
    {"printf", 1, -1, Printf},
    {"print", 0, -1, Print},
    {"println", 0, -1, Println},
    {"html", 0, -1, Html},
    {"urlquery", 0, -1, UrlQuery},
    {"urlQueryEscape", 1, 1, UrlQuery},
    {"safeHtml", 1, 1, SafeHtml},
    {"externalURL", 0, 0, Empty},
    {"pathPrefix", 0, 0, Empty},
    {"not", 1, 1, Not},
    {"eq", 2, -1, Eq},
    {"ne", 2, 2, Ne},
    {"lt", 2, 2, Lt},
    {"le", 2, 2, Le},
    {"gt", 2, 2, Gt},
    {"ge", 2, 2, Ge},
};

}  // namespace

const TemplateFunction* FindFunction(std::string_view name) {
  for (const TemplateFunction& f : kFunctions) {
    if (f.name == name) return &f;
  }
  for (const TemplateFunction& f : QueryFunctions()) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

std::string_view WhyNotSupported(std::string_view name) {
  for (const std::string_view q : {"graphLink", "tableLink"}) {
    if (name == q) return "it links to pages of a Prometheus server";
  }
  for (const std::string_view q : {"tmpl", "toTime", "toDuration", "slice", "js", "call"}) {
    if (name == q) return "only the part that rules use is there";
  }
  return "";
}

}  // namespace pitwall::templates
