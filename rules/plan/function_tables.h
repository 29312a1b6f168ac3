// PromQL's function names as the Program knows them. Private to this module.
#pragma once

#include <optional>
#include <string_view>

#include "rules/plan/function.h"
#include "services/model/demand.h"

namespace pitwall::plan {

// Functions over windows: rate, avg_over_time, …
std::optional<WindowFunction> FindWindowFunction(std::string_view name);
std::string_view WindowFunctionName(WindowFunction function);
// Functions over instant vectors and scalars.
std::optional<FunctionId> FindElementFunction(std::string_view name);

}  // namespace pitwall::plan
