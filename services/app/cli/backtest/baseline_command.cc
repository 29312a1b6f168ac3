// Command `pitwall baseline`: writes a summary of a finished job as a baseline for later jobs.
#include "services/app/cli/backtest/backtest_commands.h"
#include "services/app/cli/backtest/backtest_formats.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/offline/backtest/summary.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

std::vector<FlagSpec> BaselineFlags() {
  return JoinOptions(
      {{{"out", Kind::kOne, "FILE", "file to write (default: stdout)"},
        {"run", Kind::kOne, "NAME", "value of the label `run` of the series (default: the job ID)"},
        {"match", Kind::kMany, "LABEL=GLOB",
         "jobs that the summary applies to: `job`, or labels of the job (default: the job's name "
         "and the same config_hash)"},
        {"max-bytes", Kind::kOne, "N", "thin out points until the file has at most N bytes",
         "65536"},
        {"job", Kind::kOne, "ID",
         "finished job, if there are several; files: also the job of samples without the label "
         "pitwall_job"},
        {"rules", Kind::kMany, "FILE", "rules whose recordings named summary:* are kept",
         "pack:summary"}},
       ReplayInputOptions(),
       ReplayRangeOptions()});
}

StatusOr<int> WriteBaseline(const Flags& flags) {
  offline::SummaryOptions options;
  options.run = flags.One("run").value_or("");
  for (const std::string& match : flags.Many("match")) {
    const size_t equal = match.find('=');
    if (equal == 0 || equal == std::string::npos || equal + 1 == match.size())
      return InvalidArgument(Cat("--match: must be LABEL=GLOB (got ", Quote(match), ")"));
    options.match.emplace_back(match.substr(0, equal), match.substr(equal + 1));
  }
  if (const auto text = flags.One("max-bytes")) {
    const auto bytes = ParseInt(*text);
    if (!bytes || *bytes <= 0)
      return InvalidArgument(
          Cat("--max-bytes: must be an integer above 0 (got ", Quote(*text), ")"));
    options.max_bytes = static_cast<size_t>(*bytes);
  }
  if (options.match.empty() && flags.One("format").value_or("log") != "log")
    return InvalidArgument(
        "--match: missing value; an input file cannot identify later jobs, so add --match "
        "LABEL=GLOB");
  BacktestRange range;
  offline::Summary summary(flags.One("job").value_or(""));
  RETURN_IF_ERROR(Replay(flags, &range, &summary).status());
  for (const std::string& damage : range.damage)
    PrintError(TerminalLine(Cat("pitwall baseline: ", damage)) + "\n");
  ASSIGN_OR_RETURN(const std::string text, summary.Text(options));
  const auto path = flags.One("out");
  if (!path.has_value()) {
    Print(text);
    return kFine;
  }
  // WriteFile replaces the file atomically because a service may read the directory at any time.
  RETURN_IF_ERROR(WriteFile(*path, text));
  return kFine;
}

}  // namespace

Command BaselineCommand() {
  return {
      .name = "baseline",
      .summary = "Write the summary of a finished job, for comparison with later jobs",
      .usage = {"--input DIR | --brokers HOSTS --job ID [--out FILE] [options]",
                "--format FORMAT --input FILE… --match LABEL=GLOB [--out FILE] [options]"},
      .max_arguments = kAnyNumber,  // Replay rejects positional arguments with a hint
      .options = BaselineFlags(),
      .examples = {"pitwall baseline --input /var/lib/pitwall --job bert-1 --out runs/bert-1.yaml",
                   "pitwall baseline --format csv --mapping columns.yaml --input monday.csv "
                   "--match 'job=resnet*' --out runs/monday.yaml"},
      .run = [](Flags flags) {
        flags.SetDefault("rules", "pack:summary");
        const StatusOr<int> code = WriteBaseline(flags);
        return code.ok() ? *code : ExitCodeOf("baseline", code.status(), kUsage);
      }};
}

}  // namespace pitwall
