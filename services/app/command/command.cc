#include "services/app/command/command.h"

#include <algorithm>

#include "services/base/terminal.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr FlagSpec kHelpOption = {
    .name = "help", .kind = FlagSpec::Kind::kSwitch, .help = "print this help", .short_name = "h"};

std::vector<std::string> WordsOf(const Command& command) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(command.name, ' ')) words.emplace_back(word);
  return words;
}

std::string UsageLines(const Command& command) {
  std::string out;
  for (const std::string_view form : command.usage)
    CatTo(out, "  pitwall ", command.name, form.empty() ? "" : " ", form, "\n");
  return out;
}

Status CheckArguments(const Command& command, const Flags& flags) {
  const size_t count = flags.positional().size();
  if (count >= command.min_arguments && count <= command.max_arguments) return OkStatus();
  const std::string got =
      count > command.max_arguments
          ? Cat("unexpected argument (", Quote(flags.positional()[command.max_arguments]), ")")
          : std::string("argument is missing");
  return InvalidArgument(Cat(got, "\nUsage:\n", UsageLines(command), "`pitwall ", command.name,
                             " --help` lists the options"));
}

}  // namespace

std::vector<FlagSpec> ParsedOptions(const Command& command) {
  return JoinOptions({command.options, command.ignored, {kHelpOption}});
}

std::string HelpOf(const Command& command) {
  std::string out = Cat(command.summary, ".\n\nUsage:\n", UsageLines(command));
  if (!command.details.empty()) CatTo(out, "\n", command.details);
  CatTo(out, "\nOptions:\n", FlagHelp(JoinOptions({command.options, {kHelpOption}})));
  if (!command.ignored.empty()) {
    std::vector<std::string> names;
    for (const FlagSpec& spec : command.ignored) names.push_back(Cat("--", spec.name));
    CatTo(
        out, "\n",
        Wrapped(Cat("Options of other services have no effect here: ", Join(names, ", "), "."), 0),
        "\n");
  }
  CatTo(out, "\nExamples:\n");
  for (const std::string_view example : command.examples) CatTo(out, "  ", example, "\n");
  return out;
}

std::string SummaryLine(std::string_view name, std::string_view summary, size_t column) {
  std::string left = Cat("  ", name);
  left.resize(std::max(left.size() + 2, column), ' ');
  return Cat(left, summary, "\n");
}

std::string GroupHelp(std::string_view group, const std::vector<Command>& commands) {
  std::string out = Cat("Usage:\n  pitwall ", group, " SUBCOMMAND [options]\n\nSubcommands:\n");
  for (const Command& command : commands) {
    const std::vector<std::string> words = WordsOf(command);
    if (words.size() < 2 || words[0] != group) continue;
    CatTo(out, SummaryLine(words[1], command.summary, 16));
  }
  return Cat(out, "\n`pitwall ", group, " SUBCOMMAND --help` lists its options.\n");
}

const Command* FindCommand(const std::vector<Command>& commands,
                           const std::vector<std::string>& arguments) {
  const Command* best = nullptr;
  size_t most = 0;
  for (const Command& command : commands) {
    const std::vector<std::string> words = WordsOf(command);
    if (words.size() <= most || words.size() > arguments.size()) continue;
    if (!std::equal(words.begin(), words.end(), arguments.begin())) continue;
    best = &command;
    most = words.size();
  }
  return best;
}

int RunCommand(const Command& command, const std::vector<std::string>& arguments) {
  const StatusOr<Flags> flags = Flags::Parse(ParsedOptions(command), arguments);
  if (!flags.ok()) {
    PrintFailure(command.name, flags.status());
    return kUsage;
  }
  if (flags->Has("help")) {
    Print(HelpOf(command));
    return kFine;
  }
  if (const Status status = CheckArguments(command, *flags); !status.ok())
    return ExitCodeOf(command.name, status);
  return command.run(*flags);
}

void PrintFailure(std::string_view command, const Status& status) {
  PrintError(Cat("pitwall ", command, ": ", ToStd(status.message()), "\n"));
}

int ExitCodeOf(std::string_view command, const Status& status, int failed) {
  if (status.ok()) return kFine;
  PrintFailure(command, status);
  return absl::IsInvalidArgument(status) ? kUsage : failed;
}

}  // namespace pitwall
