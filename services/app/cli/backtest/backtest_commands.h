// Tables of the commands `backtest` and `baseline`. Each definition is next to the code of the
// command.
#pragma once

#include "services/app/command/command.h"

namespace pitwall {

Command BacktestCommand();
Command BaselineCommand();

}  // namespace pitwall
