// openapi.yaml, as it was when this was built.
#pragma once

#include <string_view>

namespace pitwall::history {

extern const std::string_view kOpenApiText;

}  // namespace pitwall::history
