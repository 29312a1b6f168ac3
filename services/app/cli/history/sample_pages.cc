#include "services/app/cli/history/sample_pages.h"

#include <algorithm>

#include "services/app/cli/history/query_text.h"
#include "services/base/clock.h"
#include "services/base/text/strings.h"

namespace pitwall::history_client {
namespace {

constexpr int64_t kFirstStretchNs = 3600 * kNanosPerSecond;
constexpr int64_t kLeastStretchNs = kNanosPerSecond;

// Quotes a cell according to RFC 4180.
std::string Cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  return out + "\"";
}

Status MalformedSamples() { return absl::DataLossError("/samples: malformed response"); }

StatusOr<uint64_t> Rows(const Json& series, std::string* out) {
  if (!series.is_object() || !series.contains("labels") || !series.contains("times_ns") ||
      !series.contains("values") || series["times_ns"].size() != series["values"].size())
    return MalformedSamples();
  Json labels = series["labels"];
  const std::string metric = labels.value("__name__", "");
  labels.erase("__name__");
  const std::string head = Cat(Cell(metric), ",", Cell(SeriesText(labels)), ",");
  const Json& times = series["times_ns"];
  const Json& values = series["values"];
  const bool has_steps = series.contains("steps") && series["steps"].is_array();
  if (has_steps && series["steps"].size() != times.size()) return MalformedSamples();
  for (size_t i = 0; i < times.size(); ++i) {
    if (!times[i].is_string()) return MalformedSamples();
    CatTo(*out, head, times[i].get_ref<const std::string&>(), ",");
    if (has_steps && series["steps"][i].is_number_integer() && series["steps"][i] >= 0)
      CatTo(*out, series["steps"][i].get<int64_t>());
    CatTo(*out, ",", values[i].is_number() ? FormatDouble(values[i].get<double>()) : "NaN", "\n");
  }
  return times.size();
}

}  // namespace

StatusOr<uint64_t> WriteCsv(const Client& client, const SliceOf& slice,
                            const std::vector<std::string>& match, int64_t from_ns, int64_t to_ns,
                            const std::function<Status(std::string_view)>& take) {
  RETURN_IF_ERROR(take(kCsvHead));
  uint64_t count = 0;
  int64_t stretch = kFirstStretchNs;
  for (int64_t at = from_ns; at < to_ns;) {
    const int64_t end = std::min(to_ns, at + stretch);
    Parameters parameters = {{"job", slice.job}};
    for (const std::string& selector : match) parameters.emplace_back("match", selector);
    parameters.emplace_back("from", Cat(at));
    parameters.emplace_back("to", Cat(end));
    if (slice.from_step >= 0) {
      parameters.emplace_back("mode", slice.mode);
      parameters.emplace_back("from_step", Cat(slice.from_step));
      parameters.emplace_back("to_step", Cat(slice.to_step));
    }
    const auto answer = client.Get(Cat(kRoutes, "/samples"), parameters);
    if (absl::IsResourceExhausted(answer.status()) && end - at > kLeastStretchNs) {
      stretch = std::max(kLeastStretchNs, (end - at) / 2);
      continue;
    }
    RETURN_IF_ERROR(answer.status());
    if (!answer->is_object() || !answer->contains("series")) return MalformedSamples();
    for (const Json& series : (*answer)["series"]) {
      std::string rows;
      ASSIGN_OR_RETURN(const uint64_t some, Rows(series, &rows));
      count += some;
      RETURN_IF_ERROR(take(rows));
    }
    at = end;
  }
  return count;
}

}  // namespace pitwall::history_client
