// `pitwall baseline`: the summary of a finished job, against which later ones are judged.
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/offline/backtest/summary.h"
#include "services/pitwall/backtest_formats.h"
#include "services/pitwall/commands.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

std::vector<FlagSpec> BaselineFlags() {
  std::vector<FlagSpec> specs = {
      {"out", Kind::kOne, "FILE", "where the summary goes (default: standard output)"},
      {"run", Kind::kOne, "NAME", "the label `run` of its series (default: the job's id)"},
      {"match", Kind::kMany, "LABEL=GLOB",
       "which jobs it is for: `job`, or labels of the job (default: the job's name, and the same "
       "config_hash)"},
      {"max-bytes", Kind::kOne, "N", "thins points until the file is at most this long (65536)"},
  };
  for (const FlagSpec& spec : BacktestFlags()) {
    const std::string_view name = spec.name;
    if (name == "verify" || name == "no-status" || name == "end-job" || name == "baseline")
      continue;
    if (name == "rules") {
      specs.push_back({spec.name, spec.kind, spec.value,
                       "whose recordings named summary:* are kept (default: pack:summary)"});
    } else if (name == "job") {
      specs.push_back({spec.name, spec.kind, spec.value,
                       "the finished job, where there are several; files: also the job of samples "
                       "without the label pitwall_job"});
    } else {
      specs.push_back(spec);
    }
  }
  return specs;
}

StatusOr<int> WriteBaseline(const Flags& flags) {
  offline::SummaryOptions options;
  options.run = flags.One("run").value_or("");
  for (const std::string& match : flags.Many("match")) {
    const size_t equal = match.find('=');
    if (equal == 0 || equal == std::string::npos || equal + 1 == match.size())
      return InvalidArgument(Cat("--match ", match, ": expected LABEL=GLOB"));
    options.match.emplace_back(match.substr(0, equal), match.substr(equal + 1));
  }
  if (const auto text = flags.One("max-bytes")) {
    const auto bytes = ParseInt(*text);
    if (!bytes || *bytes <= 0)
      return InvalidArgument(Cat("--max-bytes ", *text, ": expected a number greater than 0"));
    options.max_bytes = static_cast<size_t>(*bytes);
  }
  if (options.match.empty() && flags.One("format").value_or("log") != "log")
    return InvalidArgument(
        "--match LABEL=GLOB is needed: files do not say what later jobs are called");
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
  // A service may read the folder at any time.
  RETURN_IF_ERROR(WriteFile(*path, text));
  return kFine;
}

}  // namespace

int RunBaseline(const std::vector<std::string>& arguments) {
  std::vector<std::string> with_rules = arguments;
  const auto parse = [&] { return Flags::Parse(BaselineFlags(), with_rules); };
  auto flags = parse();
  if (flags.ok() && !flags->Has("rules")) {
    with_rules.insert(with_rules.end(), {"--rules", "pack:summary"});
    flags = parse();
  }
  if (flags.ok() && flags->Has("help")) {
    Print(
        Cat("pitwall baseline --input DIR | --brokers HOSTS --job ID [--out FILE] [flags]\n"
            "pitwall baseline --format FORMAT --input FILE… [--out FILE] [flags]\n",
            FlagHelp(BaselineFlags())));
    return kFine;
  }
  StatusOr<int> code = flags.ok() ? WriteBaseline(*flags) : StatusOr<int>(flags.status());
  if (code.ok()) return *code;
  PrintError(Cat("pitwall baseline: ", ToStd(code.status().message()), "\n"));
  return kUsage;
}

}  // namespace pitwall
