// `pitwall query 'PROMQL'`: the history of all jobs by Prometheus' query API.
#include <algorithm>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/history/plot.h"
#include "services/pitwall/history/query_text.h"
#include "services/pitwall/history_access.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using history_client::Json;

constexpr char kUsageText[] = R"(pitwall query 'PROMQL' [--time TIME] [flags]
pitwall query 'PROMQL' --start TIME [--end TIME] [--step DURATION] [--plot | --points] [flags]

Asks the history of all jobs. With --start, --end, --step, --plot or --points it is a range query. TIME is like
2026-01-02T03:04:05Z, Unix seconds, now, or -15m. Exit codes: 0 fine, 1 no answer, 2 usage or a query that is wrong.

)";
constexpr size_t kMostCurves = 8;
constexpr int64_t kMostPoints = 11'000;  // of a series, as in Prometheus

std::vector<FlagSpec> QueryFlags() {
  std::vector<FlagSpec> specs = {
      {"time", Kind::kOne, "TIME", "of an instant query (now)"},
      {"start", Kind::kOne, "TIME", "begin of a range query (an hour before --end)"},
      {"end", Kind::kOne, "TIME", "its end (now)"},
      {"step", Kind::kOne, "DURATION", "between two points (a point for each column of the plot)"},
      {"plot", Kind::kSwitch, "", "curves of braille dots, up to 8 series"},
      {"points", Kind::kSwitch, "", "each point in a line"},
      {"width", Kind::kOne, "N", "columns of the plot (80)"},
      {"height", Kind::kOne, "N", "lines of each curve (12; of several 5)"},
  };
  for (const FlagSpec& spec : HistoryFlags()) specs.push_back(spec);
  specs.push_back({"json", Kind::kSwitch, "", "the data of Prometheus' answer in one line"});
  specs.push_back({"help", Kind::kSwitch, "", "this text"});
  return specs;
}

StatusOr<int64_t> Size(const Flags& flags, std::string_view name, int64_t other, int64_t least,
                       int64_t most) {
  const auto text = flags.One(name);
  if (!text.has_value()) return other;
  const auto number = ParseInt(*text);
  if (!number.has_value() || *number < least || *number > most)
    return InvalidArgument(
        Cat("--", name, " must be ", least, " to ", most, " (", Quote(*text), ")"));
  return *number;
}

std::string Seconds(int64_t ns) { return FormatDouble(static_cast<double>(ns) / 1e9); }

struct Range {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t step_ns = 0;
};

StatusOr<Range> ReadRange(const Flags& flags, int64_t now_ns, int64_t columns) {
  Range range;
  range.end_ns = now_ns;
  if (const auto text = flags.One("end")) {
    ASSIGN_OR_RETURN(range.end_ns, ReadMoment("end", *text, now_ns));
  }
  range.start_ns = range.end_ns - 3600 * kNanosPerSecond;
  if (const auto text = flags.One("start")) {
    ASSIGN_OR_RETURN(range.start_ns, ReadMoment("start", *text, now_ns));
  }
  if (range.start_ns >= range.end_ns) return InvalidArgument("--start must lie before --end");
  const int64_t length = range.end_ns - range.start_ns;
  // Two dots a column; whole milliseconds, as the API has them.
  range.step_ns =
      std::max<int64_t>(kNanosPerMilli, length / (2 * columns) / kNanosPerMilli * kNanosPerMilli);
  if (const auto text = flags.One("step")) {
    const auto step = ParseDuration(*text);
    if (!step.ok() || *step <= 0)
      return InvalidArgument(Cat("--step must be a duration like 15s (", Quote(*text), ")"));
    range.step_ns = *step;
  }
  if (length / range.step_ns >= kMostPoints)
    return InvalidArgument(Cat("--step ", FormatDuration(range.step_ns), " gives ",
                               length / range.step_ns + 1, " points a series; at most ",
                               kMostPoints, " are answered"));
  return range;
}

Status PrintPlot(const Json& data, const Flags& flags, const Range& range, int64_t width) {
  ASSIGN_OR_RETURN(std::vector<history_client::Curve> curves, history_client::CurvesOf(data));
  if (curves.empty()) {
    PrintError("no series\n");
    return OkStatus();
  }
  const size_t left_out = curves.size() - std::min(curves.size(), kMostCurves);
  curves.resize(curves.size() - left_out);
  history_client::PlotOptions options;
  options.width = static_cast<size_t>(width);
  ASSIGN_OR_RETURN(const int64_t height,
                   Size(flags, "height", curves.size() == 1 ? 12 : 5, 2, 200));
  options.height = static_cast<size_t>(height);
  options.from_ns = range.start_ns;
  options.to_ns = range.end_ns;
  options.step_ns = range.step_ns;
  Print(history_client::Plot(curves, options));
  if (left_out > 0)
    PrintError(Cat(left_out, " more series are not shown; narrow the query, or aggregate it\n"));
  return OkStatus();
}

Status Query(const std::string& query, const Flags& flags) {
  const int64_t now_ns = clock::SystemClock().WallNs();
  ASSIGN_OR_RETURN(const int64_t width, Size(flags, "width", 80, 40, 1000));
  bool is_range = false;
  for (const char* name : {"start", "end", "step", "plot", "points"}) is_range |= flags.Has(name);
  if (is_range && flags.Has("time"))
    return InvalidArgument("--time is of an instant query; give --start and --end for a range");
  if (flags.Has("json") && (flags.Has("plot") || flags.Has("points")))
    return InvalidArgument("--json beside --plot or --points: one is enough");
  history_client::Parameters parameters = {{"query", query}};
  Range range;
  if (is_range) {
    ASSIGN_OR_RETURN(range, ReadRange(flags, now_ns, width - 11));
    parameters.emplace_back("start", Seconds(range.start_ns));
    parameters.emplace_back("end", Seconds(range.end_ns));
    parameters.emplace_back("step", Seconds(range.step_ns));
  } else if (const auto text = flags.One("time")) {
    ASSIGN_OR_RETURN(const int64_t time_ns, ReadMoment("time", *text, now_ns));
    parameters.emplace_back("time", Seconds(time_ns));
  }
  return WithHistory(flags, [&](const history_client::Client& client) -> Status {
    ASSIGN_OR_RETURN(Json answer,
                     client.Get(is_range ? "/api/v1/query_range" : "/api/v1/query", parameters));
    for (const char* kind : {"warnings", "infos"}) {
      if (!answer.is_object() || !answer.contains(kind)) continue;
      for (const Json& text : answer[kind])
        if (text.is_string()) PrintError(Cat(text.get<std::string>(), "\n"));
    }
    ASSIGN_OR_RETURN(const Json data, history_client::QueryData(std::move(answer)));
    if (flags.Has("json")) {
      PrintJson(data.dump() + "\n");
      return OkStatus();
    }
    if (flags.Has("plot")) return PrintPlot(data, flags, range, width);
    ASSIGN_OR_RETURN(const std::string table,
                     history_client::QueryTable(data, flags.Has("points")));
    table.empty() ? PrintError("no series\n") : Print(table);
    return OkStatus();
  });
}

}  // namespace

int RunQuery(const std::vector<std::string>& arguments) {
  const std::vector<FlagSpec> specs = QueryFlags();
  const auto flags = Flags::Parse(specs, arguments);
  if (!flags.ok()) {
    PrintError(Cat("pitwall query: ", ToStd(flags.status().message()), "\n"));
    return kUsage;
  }
  if (flags->Has("help") || flags->positional().size() != 1) {
    const std::string text = Cat(kUsageText, FlagHelp(specs));
    flags->Has("help") ? Print(text) : PrintError(text);
    return flags->Has("help") ? kFine : kUsage;
  }
  const Status status = Query(flags->positional()[0], *flags);
  if (status.ok()) return kFine;
  PrintError(Cat("pitwall query: ", ToStd(status.message()), "\n"));
  return absl::IsInvalidArgument(status) ? kUsage : kCheckFailed;
}

}  // namespace pitwall
