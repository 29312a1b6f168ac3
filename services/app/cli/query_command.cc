// Command `pitwall query 'PROMQL'`: queries the history of all jobs through the Prometheus query
// API.
#include <algorithm>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/app/cli/commands.h"
#include "services/app/cli/history/plot.h"
#include "services/app/cli/history/query_text.h"
#include "services/app/cli/history_access.h"
#include "services/app/command/flags.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using history_client::Json;

constexpr size_t kMaxCurves = 8;
constexpr int64_t kMaxPoints = 11'000;  // limit per series, as in Prometheus

StatusOr<int64_t> Size(const Flags& flags, std::string_view name, int64_t otherwise, int64_t low,
                       int64_t high) {
  const auto text = flags.One(name);
  if (!text.has_value()) return otherwise;
  const auto number = ParseInt(*text);
  if (!number.has_value() || *number < low || *number > high)
    return InvalidArgument(
        Cat("--", name, ": must be ", low, " to ", high, " (got ", Quote(*text), ")"));
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
  if (range.start_ns >= range.end_ns) return InvalidArgument("--start: must be earlier than --end");
  const int64_t length = range.end_ns - range.start_ns;
  // Each column is two dots wide. The API accepts only steps in whole milliseconds.
  range.step_ns =
      std::max<int64_t>(kNanosPerMilli, length / (2 * columns) / kNanosPerMilli * kNanosPerMilli);
  if (const auto text = flags.One("step")) {
    const auto step = ParseDuration(*text);
    if (!step.ok() || *step <= 0)
      return InvalidArgument(Cat("--step: must be a duration like 15s (got ", Quote(*text), ")"));
    range.step_ns = *step;
  }
  if (length / range.step_ns >= kMaxPoints)
    return InvalidArgument(Cat("--step: at most ", kMaxPoints, " points per series are allowed (",
                               FormatDuration(range.step_ns), " gives ", length / range.step_ns + 1,
                               "); specify a longer step"));
  return range;
}

Status PrintPlot(const Json& data, const Flags& flags, const Range& range, int64_t width) {
  ASSIGN_OR_RETURN(std::vector<history_client::Curve> curves, history_client::CurvesOf(data));
  if (curves.empty()) {
    PrintError("no series\n");
    return OkStatus();
  }
  const size_t left_out = curves.size() - std::min(curves.size(), kMaxCurves);
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
    PrintError(Cat(left_out, " more series are not shown; narrow or aggregate the query\n"));
  return OkStatus();
}

Status Query(const std::string& query, const Flags& flags) {
  const int64_t now_ns = clock::SystemClock().WallNs();
  ASSIGN_OR_RETURN(const int64_t width, Size(flags, "width", 80, 40, 1000));
  bool is_range = false;
  for (const char* name : {"start", "end", "step", "plot", "points"}) is_range |= flags.Has(name);
  if (is_range && flags.Has("time"))
    return InvalidArgument(
        "--time: applies only to instant queries; specify --start and --end for a range");
  if (flags.Has("json") && (flags.Has("plot") || flags.Has("points")))
    return InvalidArgument(
        "--json: cannot be combined with --plot or --points; specify only one of them");
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

Command QueryCommand() {
  return {
      .name = "query",
      .summary = "Query the history of all jobs with PromQL and print a table or a plot",
      .usage =
          {"'PROMQL' [--time TIME] [options]",
           "'PROMQL' --start TIME [--end TIME] [--step DURATION] [--plot | --points] [options]"},
      .details =
          "With --start, --end, --step, --plot, or --points it is a range query. TIME is like\n"
          "2026-01-02T03:04:05Z, Unix seconds, now, or -15m. Exit codes: 0 success, 1 no reply, "
          "2 usage or an\ninvalid query.\n",
      .min_arguments = 1,
      .max_arguments = 1,
      .options = JoinOptions(
          {{{"time", Kind::kOne, "TIME", "time of an instant query", "now"},
            {"start", Kind::kOne, "TIME", "start of a range query (default: an hour before --end)"},
            {"end", Kind::kOne, "TIME", "end of a range query", "now"},
            {"step", Kind::kOne, "DURATION",
             "interval between two points (default: two points per column of the plot)"},
            {"plot", Kind::kSwitch, "", "plot up to 8 series with braille dots"},
            {"points", Kind::kSwitch, "", "print one line per point"},
            {"width", Kind::kOne, "N", "columns of the plot", "80"},
            {"height", Kind::kOne, "N",
             "lines of each curve (default: 12, or 5 for several series)"},
            {"json", Kind::kSwitch, "", "print the data of the Prometheus response on one line"}},
           HistoryFlags()}),
      .examples = {"pitwall query 'avg by (node) (hw_gpu_utilization_ratio)' --start -15m --plot",
                   "pitwall query 'train_loss{pitwall_job=\"bert-1\"}' --json"},
      .run = [](const Flags& flags) {
        return ExitCodeOf("query", Query(flags.positional()[0], flags));
      }};
}

}  // namespace pitwall
