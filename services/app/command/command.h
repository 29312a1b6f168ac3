// Table of a command: the text of its help, its options, and the function that runs it. Each
// command has its table next to its code, and commands.cc joins the tables.
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
inline constexpr int kCheckFailed = 1;  // the check found something, or there was no reply
inline constexpr int kUsage = 2;        // wrong usage or unreadable input

struct Command {
  std::string name;                     // "rules check"
  std::string_view summary;             // one sentence without the period
  std::vector<std::string_view> usage;  // what follows `pitwall NAME`, one entry per form
  std::string_view details = {};        // paragraphs; each ends with a line break
  size_t min_arguments = 0;
  size_t max_arguments = 0;
  std::vector<FlagSpec> options;           // without --help, which every command has
  std::vector<std::string_view> examples;  // complete command lines
  std::function<int(const Flags&)> run;
  // Options that are accepted and have no effect. The help lists their names.
  std::vector<FlagSpec> ignored = {};
};

inline constexpr size_t kAnyNumber = SIZE_MAX;

// Returns every option that the command parses.
std::vector<FlagSpec> ParsedOptions(const Command& command);

// Returns the text that `pitwall NAME --help` prints.
std::string HelpOf(const Command& command);

// Returns one line of a list of commands, with the summary from `column` on.
std::string SummaryLine(std::string_view name, std::string_view summary, size_t column);

// Returns the text that `pitwall GROUP --help` prints: the subcommands of `jobs`, for example.
std::string GroupHelp(std::string_view group, const std::vector<Command>& commands);

// Returns the command with the most words at the start of `arguments`, or nullptr.
const Command* FindCommand(const std::vector<Command>& commands,
                           const std::vector<std::string>& arguments);

// Parses the arguments after the name of the command and runs it. Returns the exit code.
int RunCommand(const Command& command, const std::vector<std::string>& arguments);

// Prints an error of a command to stderr.
void PrintFailure(std::string_view command, const Status& status);

// Prints the error, if there is one. Returns kFine, kUsage for an invalid argument, or `failed`.
int ExitCodeOf(std::string_view command, const Status& status, int failed = kCheckFailed);

}  // namespace pitwall
