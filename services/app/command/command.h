// Table that describes a command: its help text, its options, and the function that runs it. Each
// table is next to its command's code, and commands.cc collects the tables.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/app/command/flags.h"
#include "services/base/status.h"

namespace pitwall {

// Exit codes of the binary.
inline constexpr int kFine = 0;
inline constexpr int kCheckFailed = 1;  // a check found a problem, or no reply arrived
inline constexpr int kUsage = 2;        // invalid usage or unreadable input

struct Command {
  std::string name;                     // "rules check"
  std::string_view summary;             // one sentence without the final period
  std::vector<std::string_view> usage;  // text after `pitwall NAME`, one entry per usage form
  std::string_view details = {};        // paragraphs; each ends with a line break
  size_t min_arguments = 0;
  size_t max_arguments = 0;
  std::vector<FlagSpec> options;           // excludes --help, which every command has
  std::vector<std::string_view> examples;  // complete command lines
  std::function<int(const Flags&)> run;
  // Options that are accepted but have no effect. The help text lists only their names.
  std::vector<FlagSpec> ignored = {};
};

inline constexpr size_t kAnyNumber = SIZE_MAX;

// Returns all options that the parser accepts for the command.
std::vector<FlagSpec> ParsedOptions(const Command& command);

// Returns the output of `pitwall NAME --help`.
std::string HelpOf(const Command& command);

// Returns the command's line in a list of commands. The summary starts at `column`.
std::string SummaryLine(std::string_view name, std::string_view summary, size_t column);

// Returns the output of `pitwall GROUP --help`, for example the subcommands of `jobs`.
std::string GroupHelp(std::string_view group, const std::vector<Command>& commands);

// Returns the command with the longest name that matches the start of `arguments`, or nullptr.
const Command* FindCommand(const std::vector<Command>& commands,
                           const std::vector<std::string>& arguments);

// Parses the arguments that follow the command's name and runs the command. Returns the exit code.
int RunCommand(const Command& command, const std::vector<std::string>& arguments);

// Prints a command's error to stderr.
void PrintFailure(std::string_view command, const Status& status);

// Prints the error, if any. Returns kFine for OK, kUsage for an invalid argument, or `failed` for
// other errors.
int ExitCodeOf(std::string_view command, const Status& status, int failed = kCheckFailed);

}  // namespace pitwall
