// Node functions, under the names that plans use.
#pragma once

#include "services/model/windows/function.h"

namespace pitwall::plan {

using pitwall::FunctionId;

}  // namespace pitwall::plan
