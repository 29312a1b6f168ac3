// Commands of the binary. Each function returns the tables of one command or of one group of
// subcommands; its definition is next to the code of the command. Those of `backtest` and
// `baseline` are in backtest/backtest_commands.h.
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

// Returns the text that `pitwall --help` prints.
std::string OverviewHelp(const std::vector<Command>& commands);

// Runs the command that `arguments` names; `-h` is short for `--help`. Returns the exit code.
int Dispatch(const std::vector<std::string>& arguments);

}  // namespace pitwall
