#include "services/app/cli/commands.h"

#include <algorithm>
#include <iterator>

#include "services/app/cli/backtest/backtest_commands.h"
#include "services/base/terminal.h"
#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

bool IsHelp(std::string_view argument) { return argument == "--help" || argument == "-h"; }

void Append(std::vector<Command> more, std::vector<Command>* all) {
  std::move(more.begin(), more.end(), std::back_inserter(*all));
}

std::string_view FirstWord(const Command& command) {
  return std::string_view(command.name).substr(0, command.name.find(' '));
}

std::string Lines(std::vector<Command>::const_iterator begin,
                  std::vector<Command>::const_iterator end) {
  std::string out;
  for (auto command = begin; command != end; ++command)
    CatTo(out, SummaryLine(command->name, command->summary, 20));
  return out;
}

int PrintUnknown(const std::vector<Command>& commands, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(FirstWord(command));
  const std::string_view nearest = NearestName(name, names);
  PrintError(Cat("pitwall: ", Quote(name), ": unknown command",
                 nearest.empty() ? "" : Cat("; did you mean ", nearest, "?"), "\n\n",
                 OverviewHelp(commands)));
  return kUsage;
}

// Handles a command line that does not match any command: a group without a subcommand, or an
// unknown name.
int DispatchGroup(const std::vector<Command>& commands, const std::vector<std::string>& arguments) {
  const std::string& group = arguments[0];
  const bool known = std::any_of(commands.begin(), commands.end(),
                                 [&](const Command& c) { return FirstWord(c) == group; });
  if (!known) return PrintUnknown(commands, group);
  const std::string help = GroupHelp(group, commands);
  if (arguments.size() > 1 && IsHelp(arguments[1])) {
    Print(help);
    return kFine;
  }
  const std::string cause = arguments.size() > 1
                                ? Cat("unknown subcommand (got ", Quote(arguments[1]), ")")
                                : std::string("subcommand is missing");
  PrintError(Cat("pitwall ", group, ": ", cause, "\n\n", help));
  return kUsage;
}

}  // namespace

std::vector<Command> AllCommands() {
  std::vector<Command> all = ServiceCommands();
  Append(RulesCommands(), &all);
  all.push_back(RuleStatusCommand());
  all.push_back(BacktestCommand());
  all.push_back(BaselineCommand());
  Append(LogCommands(), &all);
  Append(IssuesCommands(), &all);
  Append(JobsCommands(), &all);
  all.push_back(QueryCommand());
  all.push_back(ExportCommand());
  all.push_back(CaptureCommand());
  Append(SilenceCommands(), &all);
  all.push_back(ActionsCommand());
  all.push_back(LoadgenCommand());
  return all;
}

std::string OverviewHelp(const std::vector<Command>& commands) {
  const auto tools = commands.begin() + static_cast<std::ptrdiff_t>(ServiceCommands().size());
  return Cat(
      "Pitwall watches machine-learning training jobs in real time.\n\nUsage:\n"
      "  pitwall COMMAND [options]\n\n"
      "Services (each reads --config FILE; options override it; --print-config prints the "
      "effective configuration):\n",
      Lines(commands.begin(), tools), "\nTools:\n", Lines(tools, commands.end()),
      "\n`pitwall COMMAND --help` lists the options of a command. `pitwall --version` prints the "
      "version.\n");
}

int Dispatch(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = AllCommands();
  if (arguments.empty()) {
    PrintError(OverviewHelp(commands));
    return kUsage;
  }
  if (IsHelp(arguments[0]) || arguments[0] == "help") {
    Print(OverviewHelp(commands));
    return kFine;
  }
  if (arguments[0] == "--version") {
    Print("pitwall " PITWALL_VERSION "\n");
    return kFine;
  }
  const Command* const command = FindCommand(commands, arguments);
  if (command == nullptr) return DispatchGroup(commands, arguments);
  const auto words = 1 + std::count(command->name.begin(), command->name.end(), ' ');
  return RunCommand(*command, {arguments.begin() + words, arguments.end()});
}

}  // namespace pitwall
