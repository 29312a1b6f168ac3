// Actions as people see them.
#pragma once

#include <span>
#include <string>

#include "services/model/issues/action.h"
#include "services/pitwall/config.h"

namespace pitwall {

// "2026-11-22T10:00:00.000Z  DECIDED  stop  live  job my-job  pack/group/Alert  why", one line.
std::string ActionLine(const ActionEvent& event);

// What an executor with this configuration says at its start: whether it acts or only observes, and
// how to change that.
std::string ExecutorNotice(const ExecutorConfig& config);

}  // namespace pitwall
