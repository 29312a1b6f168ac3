// Commands of the binary. Each function returns the table for one command, or the tables for a
// group of subcommands. Each table is defined next to its command's code.
// backtest/backtest_commands.h declares the tables of `backtest` and `baseline`.
#pragma once

#include <string>
#include <vector>

#include "services/app/command/command.h"

namespace pitwall {

std::vector<Command> ServiceCommands();  // standalone, collector, processor, …
std::vector<Command> RulesCommands();    // rules check|list|test|golden
Command RuleStatusCommand();             // rules status
std::vector<Command> LogCommands();      // log check|repair
std::vector<Command> IssuesCommands();   // issues list|show|watch
std::vector<Command> JobsCommands();     // jobs list|show|report|…
Command QueryCommand();
Command ExportCommand();
Command CaptureCommand();
std::vector<Command> SilenceCommands();  // silence add|list|expire
Command ActionsCommand();                // actions list
Command LoadgenCommand();

// Returns the tables of all commands, in the order of `pitwall --help`.
std::vector<Command> AllCommands();

// Returns the output of `pitwall --help`.
std::string OverviewHelp(const std::vector<Command>& commands);

// Runs the command specified by `arguments`. `-h` is short for `--help`. Returns the exit code.
int Dispatch(const std::vector<std::string>& arguments);

}  // namespace pitwall
