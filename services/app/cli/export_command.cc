// Command `pitwall export JOB`: writes a job's spans as a Perfetto trace, or its samples as CSV.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/app/cli/commands.h"
#include "services/app/cli/history/job_text.h"
#include "services/app/cli/history/perfetto_trace.h"
#include "services/app/cli/history/sample_pages.h"
#include "services/app/cli/history/span_pages.h"
#include "services/app/cli/history_access.h"
#include "services/app/command/flags.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using history_client::Client;
using history_client::Json;
using history_client::SliceOf;

constexpr int64_t kMaxSpans = 2'000'000;
constexpr int64_t kMaxRanks = 10'000;

StatusOr<std::pair<int64_t, int64_t>> ReadSpan(std::string_view flag, std::string_view text) {
  const size_t dash = text.find('-', 1);
  const auto first = ParseInt(Trim(text.substr(0, dash)));
  const auto last = dash == std::string_view::npos ? first : ParseInt(Trim(text.substr(dash + 1)));
  if (!first.has_value() || !last.has_value() || *first < 0 || *last < *first)
    return InvalidArgument(
        Cat("--", flag, ": must be a number or a range like 8 or 100-120 (got ", Quote(text), ")"));
  return std::pair(*first, *last);
}

Status ReadRanks(std::string_view text, std::vector<int64_t>* ranks) {
  for (std::string_view part : Split(text, ',')) {
    ASSIGN_OR_RETURN(const auto range, ReadSpan("ranks", Trim(part)));
    if (range.second - range.first >= kMaxRanks || ranks->size() > kMaxRanks)
      return InvalidArgument(Cat("--ranks: at most ", kMaxRanks, " ranks are allowed (got ",
                                 Quote(text), "); remove the option to export all ranks"));
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

// Converts a job name to a file name without directory separators.
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
  if (flags.Has("match")) return InvalidArgument("--match: requires --format csv");
  int64_t limit = kMaxSpans;
  if (const auto text = flags.One("max-spans")) {
    const auto number = ParseInt(*text);
    if (!number.has_value() || *number < 1)
      return InvalidArgument(
          Cat("--max-spans: must be an integer above 0 (got ", Quote(*text), ")"));
    limit = *number;
  }
  history_client::PerfettoTrace trace;
  RETURN_IF_ERROR(ForEachSpan(client, slice, static_cast<uint64_t>(limit),
                              [&](const history_client::SpanOf& one) {
                                trace.Add(one.source, one.node, one.rank, one.span);
                              }));
  if (trace.spans() == 0)
    return absl::NotFoundError(
        "no spans in this range; `pitwall jobs show` prints when the job ran; only jobs that use "
        "the "
        "client have spans");
  const std::string bytes = trace.Bytes();
  const std::string output = flags.One("output").value_or(FileOf(slice.job));
  const std::string size = Cat(trace.spans(), " spans of ", trace.groups(), " ranks, ",
                               FormatBytes(static_cast<double>(bytes.size())));
  PrintError(Cat(size, flags.Has("dry-run") ? "" : Cat(" to ", output), "\n"));
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

Status CannotWrite(const std::string& path) {
  return absl::UnavailableError(
      Cat("--output: file cannot be written (", Quote(path), "); is the disk full?"));
}

Status ExportCsv(const Client& client, const SliceOf& slice, const Flags& flags) {
  if (!flags.Has("match"))
    return InvalidArgument(
        "--match: value is missing; specify a selector like --match 'train_loss'");
  if (flags.Has("ranks"))
    return InvalidArgument(
        "--ranks: requires --format perfetto; specify a label in --match for CSV");
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
    if (!file) return CannotWrite(*output);
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
                                                   if (!file) return CannotWrite(*output);
                                                   return OkStatus();
                                                 }));
  if (output.has_value()) {
    file.close();
    if (!file) return CannotWrite(*output);
    Json what;
    what["samples"] = rows;
    what["bytes"] = bytes;
    what["file"] = *output;
    Summary(flags, what,
            Cat(rows, " samples, ", FormatBytes(static_cast<double>(bytes)), " to ", *output));
  }
  return OkStatus();
}

Status Export(const std::string& job, const Flags& flags) {
  const std::string format = flags.One("format").value_or("perfetto");
  if (format == "parquet")
    return InvalidArgument(
        "--format: parquet is written by the Python client; run python3 -m pitwall.history parquet "
        "JOB --match SELECTOR --output FILE");
  if (format != "perfetto" && format != "csv")
    return InvalidArgument(Cat("--format: must be perfetto or csv (got ", Quote(format), ")"));
  if (format == "csv" && flags.Has("json") && !flags.Has("output"))
    return InvalidArgument("--json: requires --output, because CSV goes to stdout");
  ASSIGN_OR_RETURN(const SliceOf slice, ReadSlice(job, flags));
  return WithHistory(flags, [&](const Client& client) {
    return format == "csv" ? ExportCsv(client, slice, flags) : ExportTrace(client, slice, flags);
  });
}

}  // namespace

Command ExportCommand() {
  return {
      .name = "export",
      .summary = "Export the spans of a job as a Perfetto trace, or its samples as CSV",
      .usage = {"JOB [--format perfetto] [--output FILE] [options]",
                "JOB --format csv --match 'METRIC{LABEL=\"VALUE\"}' … [--output FILE] [options]"},
      .details =
          "JOB is an ID, a name, or the start of an ID. Without --from, --to, and --steps the "
          "whole "
          "job is exported.\n"
          "perfetto: steps, phases, and operators of all ranks, for ui.perfetto.dev. The size is "
          "printed on stderr\nbefore the file is written.\n"
          "csv: one row per sample (metric, labels, time_ns, step, value).\n"
          "Parquet: run python3 -m pitwall.history parquet (docs/history.md).\n"
          "Exit codes: 0 success, 1 no reply, 2 usage.\n",
      .min_arguments = 1,
      .max_arguments = 1,
      .options = JoinOptions(
          {{{"format", Kind::kOne, "FORMAT", "perfetto or csv", "perfetto"},
            {"output", Kind::kOne, "FILE",
             "file to write (default: JOB.pftrace for perfetto, stdout for csv)"},
            {"from", Kind::kOne, "TIME",
             "start, like 2026-01-02T03:04:05Z, Unix seconds, now, or -15m"},
            {"to", Kind::kOne, "TIME", "end"},
            {"steps", Kind::kOne, "A-B", "only these steps, both included"},
            {"mode", Kind::kOne, "MODE", "mode of the steps", "train"},
            {"ranks", Kind::kOne, "LIST", "perfetto: only these ranks, like 0-3,8"},
            {"match", Kind::kMany, "SELECTOR", "csv: selectors of series"},
            {"max-spans", Kind::kOne, "N", "perfetto: fail beyond N spans of about 100 bytes each",
             "2000000"},
            {"dry-run", Kind::kSwitch, "", "perfetto: print the size without writing a file"},
            {"json", Kind::kSwitch, "", "print a summary of the written file as one JSON object"}},
           HistoryFlags()}),
      .examples = {"pitwall export bert-1 --steps 100-120",
                   "pitwall export bert-1 --format csv --match train_loss --output loss.csv"},
      .run = [](const Flags& flags) {
        return ExitCodeOf("export", Export(flags.positional()[0], flags));
      }};
}

}  // namespace pitwall
