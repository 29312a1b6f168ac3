#include "services/history/promapi/label_answers.h"

#include <algorithm>
#include <set>

#include "rules/check/metric_catalog.h"
#include "rules/lang/parser.h"
#include "rules/plan/planner/selector_of.h"
#include "services/base/cancellation.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/file_text.h"
#include "services/history/promapi/query_answers.h"
#include "services/history/promapi/response.h"
#include "services/history/promapi/series_reader.h"
#include "services/model/position.h"

namespace pitwall::promapi {
namespace {

constexpr std::string_view kTruncated = "results truncated due to limit";

StatusOr<Selector> ParseMatch(std::string_view text) {
  const lang::Source source("query", std::string(text));
  lang::Diagnostics diagnostics;
  const lang::ExprPtr expr = lang::ParseExpr(source, &diagnostics);
  if (expr == nullptr)
    return InvalidArgument(ParseErrorText(ToStd(diagnostics.ToStatus().message())));
  const auto* selector = expr->As<lang::SelectorExpr>();
  if (selector == nullptr || selector->window != lang::WindowSyntax::kNone ||
      selector->modifiers != lang::Modifiers())
    return InvalidArgument(Cat("1:1: parse error: ", Quote(text), " is not a plain selector"));
  StatusOr<Selector> out = plan::SelectorOf(*selector);
  if (!out.ok()) return InvalidArgument(Cat("1:1: parse error: ", ToStd(out.status().message())));
  const bool some = std::any_of(out->matchers.begin(), out->matchers.end(),
                                [](const Matcher& matcher) { return !matcher.Matches(""); });
  if (!some) return InvalidArgument("match[] must contain at least one non-empty matcher");
  return out;
}

// Parameters that the series, labels, and label values endpoints share.
struct Wanted {
  size_t limit = 0;
  int64_t from = kMinPosition;
  int64_t to = kMaxPosition;
  std::vector<Selector> selectors;
};

// Parses the parameters. On failure, returns false and sets `answer` to the error response.
bool ParseWanted(const Form& form, bool name_matchers, Wanted* out, http::HttpResponse* answer) {
  const StatusOr<size_t> limit = ParseLimit(form.Get("limit"));
  if (!limit.ok()) {
    *answer = InvalidParameter("limit", ToStd(limit.status().message()));
    return false;
  }
  out->limit = *limit;
  for (const auto& [name, target] :
       {std::pair<std::string_view, int64_t*>("start", &out->from), {"end", &out->to}}) {
    const std::string_view text = form.Get(name);
    if (text.empty()) continue;
    const StatusOr<int64_t> time = ParseInstant(text);
    if (!time.ok()) {
      *answer = InvalidParameter(
          name, Cat("invalid time value for '", name, "': ", ToStd(time.status().message())));
      return false;
    }
    *target = *time;
  }
  for (const std::string& text : form.All("match[]")) {
    StatusOr<Selector> selector = ParseMatch(text);
    if (!selector.ok()) {
      const std::string_view why = ToStd(selector.status().message());
      *answer =
          name_matchers ? InvalidParameter("match[]", why) : ErrorAnswer(ErrorType::kBadData, why);
      return false;
    }
    out->selectors.push_back(*std::move(selector));
  }
  return true;
}

http::HttpResponse Listed(const std::set<std::string>& names, size_t limit,
                          const history::MissingPeers& missing) {
  std::vector<std::string> list(names.begin(), names.end());
  Annotations annotations{.missing = missing.Texts()};
  if (limit > 0 && list.size() > limit) {
    list.resize(limit);
    annotations.warnings.emplace_back(kTruncated);
  }
  std::string data;
  AppendTexts(list, &data);
  return DataAnswer(data, annotations);
}

// Decodes Prometheus's escaping for names with characters other than letters, digits, '_', and ':'.
// Such a name starts with "U__"; "__" stands for '_', and "_HEX_" for an escaped character.
// Malformed names are returned unchanged.
std::string UnescapedName(std::string_view name) {
  if (!StartsWith(name, "U__")) return std::string(name);
  std::string out;
  for (std::string_view rest = name.substr(3); !rest.empty();) {
    if (rest[0] != '_') {
      out += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    if (StartsWith(rest, "__")) {
      out += '_';
      rest.remove_prefix(2);
      continue;
    }
    const size_t end = rest.find('_', 1);
    if (end == std::string_view::npos || end == 1 || end > 7) return std::string(name);
    uint32_t code = 0;
    for (const char c : rest.substr(1, end - 1)) {
      const auto digit = std::string_view("0123456789abcdef").find(c);
      if (digit == std::string_view::npos) return std::string(name);
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return std::string(name);
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else {
      const int tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
      out += static_cast<char>(kLead[tails] | code >> (6 * tails));
      for (int i = tails - 1; i >= 0; --i)
        out += static_cast<char>(0x80U | (code >> (6 * i) & 0x3FU));
    }
    rest.remove_prefix(end + 1);
  }
  return out;
}

// Returns a check that fails once the request has exceeded its timeout.
std::function<Status()> DeadlineCheck(const Clock* clock, const PromOptions& options) {
  const int64_t deadline = clock->MonotonicNs() + options.timeout_ns;
  return [clock, deadline]() -> Status {
    RETURN_IF_ERROR(CheckCanceled());
    if (clock->MonotonicNs() < deadline) return OkStatus();
    return DeadlineExceeded("query timed out while reading series");
  };
}

}  // namespace

http::HttpResponse LabelAnswers::Series(const Form& form) const {
  if (form.All("match[]").empty())
    return ErrorAnswer(ErrorType::kBadData, "no match[] parameter provided");
  Wanted wanted;
  http::HttpResponse failed;
  if (!ParseWanted(form, /*name_matchers=*/true, &wanted, &failed)) return failed;
  SeriesReader reader(history_, *options_, DeadlineCheck(clock_, *options_));
  auto series = reader.Series(wanted.selectors, wanted.from, wanted.to);
  if (!series.ok()) return FailedRun(series.status());
  Annotations annotations{.missing = reader.missing().Texts()};
  if (wanted.limit > 0 && series->size() > wanted.limit) {
    series->resize(wanted.limit);
    annotations.warnings.emplace_back(kTruncated);
  }
  std::string data = "[";
  for (const Labels& labels : *series) {
    if (data.size() > 1) data += ',';
    AppendLabels(labels, &data);
  }
  data += ']';
  return DataAnswer(data, annotations);
}

http::HttpResponse LabelAnswers::Names(const Form& form) const {
  Wanted wanted;
  http::HttpResponse failed;
  if (!ParseWanted(form, /*name_matchers=*/false, &wanted, &failed)) return failed;
  SeriesReader reader(history_, *options_, DeadlineCheck(clock_, *options_));
  const auto series = reader.Series(wanted.selectors, wanted.from, wanted.to);
  if (!series.ok()) return FailedRun(series.status());
  std::set<std::string> names;
  for (const Labels& labels : *series) {
    for (const Label& label : labels) names.insert(label.name);
  }
  return Listed(names, wanted.limit, reader.missing());
}

http::HttpResponse LabelAnswers::Values(std::string_view path_name, const Form& form) const {
  const std::string name = UnescapedName(path_name);
  if (name.empty() || yaml::FindInvalidUtf8(name) != std::string_view::npos)
    return ErrorAnswer(ErrorType::kBadData, Cat("invalid label name: ", Quote(name)));
  Wanted wanted;
  http::HttpResponse failed;
  if (!ParseWanted(form, /*name_matchers=*/false, &wanted, &failed)) return failed;
  SeriesReader reader(history_, *options_, DeadlineCheck(clock_, *options_));
  std::set<std::string> values;
  if (name == kJobLabel && wanted.selectors.empty()) {
    const auto jobs = reader.Jobs(wanted.from, wanted.to);
    if (!jobs.ok()) return FailedRun(jobs.status());
    values.insert(jobs->begin(), jobs->end());
    return Listed(values, wanted.limit, reader.missing());
  }
  const auto series = reader.Series(wanted.selectors, wanted.from, wanted.to);
  if (!series.ok()) return FailedRun(series.status());
  for (const Labels& labels : *series) {
    if (labels.Has(name)) values.insert(std::string(labels.Get(name)));
  }
  return Listed(values, wanted.limit, reader.missing());
}

http::HttpResponse MetadataAnswer(const Form& form) {
  // As in Prometheus, a negative limit means no limit, and 0 returns no metrics.
  int64_t limits[2] = {-1, -1};
  constexpr std::string_view kNames[] = {"limit", "limit_per_metric"};
  for (size_t i = 0; i < 2; ++i) {
    const std::string_view text = form.Get(kNames[i]);
    if (text.empty()) continue;
    const std::optional<int64_t> limit = ParseInt(text);
    if (!limit.has_value())
      return ErrorAnswer(ErrorType::kBadData, Cat(kNames[i], " must be a number"));
    limits[i] = *limit;
  }
  const std::string_view metric = form.Get("metric");
  const check::MetricCatalog& catalog = check::MetricCatalog::Builtin();
  std::string data = "{";
  int64_t count = 0;
  for (const std::string& name : catalog.names()) {
    const check::MetricInfo* info = catalog.Find(name);
    if (!metric.empty() && name != metric) continue;
    if (limits[0] >= 0 && count >= limits[0]) break;
    if (count++ > 0) data += ',';
    AppendText(name, &data);
    CatTo(data, ":[{\"type\":\"", info->kind == check::MetricKind::kCounter ? "counter" : "gauge",
          "\",\"unit\":");
    // An alias may have a different unit.
    AppendText(name == info->name && info->unit != "1" ? info->unit : "", &data);
    data += ",\"help\":";
    AppendText(info->help, &data);
    data += "}]";
  }
  data += '}';
  return DataAnswer(data);
}

}  // namespace pitwall::promapi
