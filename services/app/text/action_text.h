// Human-readable text for actions.
#pragma once

#include <span>
#include <string>

#include "services/app/config/config.h"
#include "services/model/issues/action.h"

namespace pitwall {

// Returns one line, such as "2026-11-22T10:00:00.000Z  DECIDED  stop  live  job my-job
// pack/group/Alert reason".
std::string ActionLine(const ActionEvent& event);

// Returns the line that an executor logs at startup. The line states whether actions are live or
// dry runs, and how to change the mode.
std::string ExecutorNotice(const ExecutorConfig& config);

}  // namespace pitwall
