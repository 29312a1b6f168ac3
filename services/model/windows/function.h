// Function enumerators, generated from the table functions.inc.
#pragma once

#include <cstdint>

namespace pitwall {

// Functions over the samples in a window.
enum class WindowFunction {
#define PITWALL_WINDOW_OF_PARTIALS(id, ...) id,
#define PITWALL_WINDOW_OF_SAMPLES(id, ...) id,
#define PITWALL_WINDOW_OTHERWISE(id, ...) id,
#include "services/model/windows/functions.inc"
};

// Functions on instant vectors or scalars. (Functions over windows are demands.)
enum class FunctionId : uint32_t {
#define PITWALL_FUNCTION_OF_EACH(id, ...) id,
#define PITWALL_FUNCTION_OF_ALL(id, ...) id,
#include "services/model/windows/functions.inc"
};

}  // namespace pitwall
