// `pitwall export JOB`: spans of a job as a Perfetto trace, or its raw samples as CSV.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/history/job_text.h"
#include "services/pitwall/history/perfetto_trace.h"
#include "services/pitwall/history/sample_pages.h"
#include "services/pitwall/history/span_pages.h"
#include "services/pitwall/history_access.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using history_client::Client;
using history_client::Json;
using history_client::SliceOf;

constexpr char kUsageText[] = R"(pitwall export JOB [--format perfetto] [--output FILE] [flags]
pitwall export JOB --format csv --match 'METRIC{LABEL="VALUE"}' … [--output FILE] [flags]

perfetto: steps, phases and operators of all ranks, for ui.perfetto.dev; the size is said on stderr before the file is
written. csv: raw samples, a row each (metric, labels, time_ns, step, value). Parquet is written by the Python client:
python3 -m pitwall.history parquet (docs/history.md). JOB is an id, a name, or a beginning of the id. Without --from, --to
and --steps it is the whole job. Exit codes: 0 fine, 1 no answer, 2 usage.

)";
constexpr int64_t kMostSpans = 2'000'000;

std::vector<FlagSpec> ExportFlags() {
  std::vector<FlagSpec> specs = {
      {"format", Kind::kOne, "FORMAT", "perfetto (default) or csv"},
      {"output", Kind::kOne, "FILE", "perfetto: JOB.pftrace, csv: stdout"},
      {"from", Kind::kOne, "TIME", "like 2026-01-02T03:04:05Z, Unix seconds, now or -15m"},
      {"to", Kind::kOne, "TIME", "up to it"},
      {"steps", Kind::kOne, "A-B", "only these steps, both included"},
      {"mode", Kind::kOne, "MODE", "of the steps (train)"},
      {"ranks", Kind::kOne, "LIST", "perfetto: only these (0-3,8)"},
      {"match", Kind::kMany, "SELECTOR", "csv: series, several at a time"},
      {"max-spans", Kind::kOne, "N", "perfetto: refuse more (2000000); each takes about 100 bytes"},
      {"dry-run", Kind::kSwitch, "", "perfetto: only say the size"},
  };
  for (const FlagSpec& spec : HistoryFlags()) specs.push_back(spec);
  specs.push_back({"json", Kind::kSwitch, "", "what was written as one JSON object on stdout"});
  specs.push_back({"help", Kind::kSwitch, "", "this text"});
  return specs;
}

StatusOr<std::pair<int64_t, int64_t>> ReadSpan(std::string_view flag, std::string_view text) {
  const size_t dash = text.find('-', 1);
  const auto first = ParseInt(Trim(text.substr(0, dash)));
  const auto last = dash == std::string_view::npos ? first : ParseInt(Trim(text.substr(dash + 1)));
  if (!first.has_value() || !last.has_value() || *first < 0 || *last < *first)
    return InvalidArgument(Cat("--", flag, " must be like 8 or 100-120 (", Quote(text), ")"));
  return std::pair(*first, *last);
}

Status ReadRanks(std::string_view text, std::vector<int64_t>* ranks) {
  for (std::string_view part : Split(text, ',')) {
    ASSIGN_OR_RETURN(const auto range, ReadSpan("ranks", Trim(part)));
    if (range.second - range.first >= 10'000 || ranks->size() > 10'000)
      return InvalidArgument("--ranks: more than 10000; leave it out for all");
    for (int64_t rank = range.first; rank <= range.second; ++rank) ranks->push_back(rank);
  }
  return OkStatus();
}

StatusOr<SliceOf> ReadSlice(const std::string& job, const Flags& flags) {
  SliceOf slice;
  slice.job = job;
  const int64_t now_ns = clock::SystemClock().WallNs();
  if (const auto text = flags.One("from")) {
    ASSIGN_OR_RETURN(const int64_t ns, ReadMoment("from", *text, now_ns));
    slice.from = Cat(ns);
  }
  if (const auto text = flags.One("to")) {
    ASSIGN_OR_RETURN(const int64_t ns, ReadMoment("to", *text, now_ns));
    slice.to = Cat(ns);
  }
  if (const auto text = flags.One("steps")) {
    ASSIGN_OR_RETURN(const auto steps, ReadSpan("steps", *text));
    slice.from_step = steps.first;
    slice.to_step = steps.second + 1;
  }
  slice.mode = flags.One("mode").value_or("train");
  if (const auto text = flags.One("ranks")) RETURN_IF_ERROR(ReadRanks(*text, &slice.ranks));
  return slice;
}

void Summary(const Flags& flags, Json what, const std::string& text) {
  flags.Has("json") ? PrintJson(what.dump() + "\n") : PrintError(text + "\n");
}

// A name that is a file of this folder, whatever the job is called.
std::string FileOf(std::string_view job) {
  std::string name;
  for (const char c : job) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    name.push_back(plain ? c : '_');
  }
  return Cat(StartsWith(name, ".") ? "job" : "", name, ".pftrace");
}

Status ExportTrace(const Client& client, const SliceOf& slice, const Flags& flags) {
  if (flags.Has("match")) return InvalidArgument("--match is of --format csv");
  int64_t most = kMostSpans;
  if (const auto text = flags.One("max-spans")) {
    const auto number = ParseInt(*text);
    if (!number.has_value() || *number < 1)
      return InvalidArgument(Cat("--max-spans must be a whole number (", Quote(*text), ")"));
    most = *number;
  }
  history_client::PerfettoTrace trace;
  RETURN_IF_ERROR(ForEachSpan(client, slice, static_cast<uint64_t>(most),
                              [&](const history_client::SpanOf& one) {
                                trace.Add(one.source, one.node, one.rank, one.span);
                              }));
  if (trace.spans() == 0)
    return absl::NotFoundError(
        "no spans in this slice; `pitwall jobs show` says when the job ran, and only trainings "
        "with the client have spans");
  const std::string bytes = trace.Bytes();
  const std::string output = flags.One("output").value_or(FileOf(slice.job));
  const std::string size = Cat(trace.spans(), " spans of ", trace.groups(), " ranks, ",
                               FormatBytes(static_cast<double>(bytes.size())));
  PrintError(Cat(size, flags.Has("dry-run") ? "" : Cat(" into ", output), "\n"));
  if (!flags.Has("dry-run")) RETURN_IF_ERROR(WriteFile(output, bytes));
  if (flags.Has("json")) {
    Json what;
    what["spans"] = trace.spans();
    what["ranks"] = trace.groups();
    what["bytes"] = bytes.size();
    what["file"] = flags.Has("dry-run") ? Json() : Json(output);
    PrintJson(what.dump() + "\n");
  }
  return OkStatus();
}

Status ExportCsv(const Client& client, const SliceOf& slice, const Flags& flags) {
  if (!flags.Has("match"))
    return InvalidArgument("--match is needed: which series, e.g. --match 'train_loss'");
  if (flags.Has("ranks"))
    return InvalidArgument("--ranks is of --format perfetto; for csv give a label in --match");
  ASSIGN_OR_RETURN(const Json job,
                   client.Get(Cat(history_client::kRoutes, "/job"), {{"job", slice.job}}));
  const int64_t from_ns =
      slice.from.empty() ? history_client::FieldNs(job, "first_ns") : *ParseInt(slice.from);
  const int64_t to_ns =
      slice.to.empty() ? history_client::FieldNs(job, "last_ns") + 1 : *ParseInt(slice.to);
  const auto output = flags.One("output");
  std::ofstream file;
  if (output.has_value()) {
    file.open(*output, std::ios::binary | std::ios::trunc);
    if (!file) return absl::UnavailableError(Cat("--output ", *output, ": cannot be written"));
  }
  uint64_t bytes = 0;
  ASSIGN_OR_RETURN(const uint64_t rows, WriteCsv(client, slice, flags.Many("match"), from_ns, to_ns,
                                                 [&](std::string_view text) -> Status {
                                                   bytes += text.size();
                                                   if (!output.has_value()) {
                                                     Print(text);
                                                     return OkStatus();
                                                   }
                                                   file << text;
                                                   if (!file)
                                                     return absl::UnavailableError(Cat(
                                                         "--output ", *output,
                                                         ": cannot be written; is the disk full?"));
                                                   return OkStatus();
                                                 }));
  if (output.has_value()) {
    file.close();
    if (!file) return absl::UnavailableError(Cat("--output ", *output, ": cannot be written"));
    Json what;
    what["samples"] = rows;
    what["bytes"] = bytes;
    what["file"] = *output;
    Summary(flags, what,
            Cat(rows, " samples, ", FormatBytes(static_cast<double>(bytes)), " into ", *output));
  }
  return OkStatus();
}

Status Export(const std::string& job, const Flags& flags) {
  const std::string format = flags.One("format").value_or("perfetto");
  if (format == "parquet")
    return InvalidArgument(
        "--format parquet: the Python client writes it: python3 -m pitwall.history parquet JOB "
        "--match SELECTOR --output FILE");
  if (format != "perfetto" && format != "csv")
    return InvalidArgument(Cat("--format must be perfetto or csv (", Quote(format), ")"));
  if (format == "csv" && flags.Has("json") && !flags.Has("output"))
    return InvalidArgument("--json beside a CSV on stdout: give --output");
  ASSIGN_OR_RETURN(const SliceOf slice, ReadSlice(job, flags));
  return WithHistory(flags, [&](const Client& client) {
    return format == "csv" ? ExportCsv(client, slice, flags) : ExportTrace(client, slice, flags);
  });
}

}  // namespace

int RunExport(const std::vector<std::string>& arguments) {
  const std::vector<FlagSpec> specs = ExportFlags();
  const auto flags = Flags::Parse(specs, arguments);
  if (!flags.ok()) {
    PrintError(Cat("pitwall export: ", ToStd(flags.status().message()), "\n"));
    return kUsage;
  }
  if (flags->Has("help") || flags->positional().size() != 1) {
    const std::string text = Cat(kUsageText, FlagHelp(specs));
    flags->Has("help") ? Print(text) : PrintError(text);
    return flags->Has("help") ? kFine : kUsage;
  }
  const Status status = Export(flags->positional()[0], *flags);
  if (status.ok()) return kFine;
  PrintError(Cat("pitwall export: ", ToStd(status.message()), "\n"));
  return absl::IsInvalidArgument(status) ? kUsage : kCheckFailed;
}

}  // namespace pitwall
