// Tables for the `backtest` and `baseline` commands. Each table is defined next to the command's
// code.
#pragma once

#include "services/app/command/command.h"

namespace pitwall {

Command BacktestCommand();
Command BaselineCommand();

}  // namespace pitwall
