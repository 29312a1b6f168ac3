// openapi.yaml, as it was when this was built.
#pragma once

#include <string_view>

namespace pitwall::insights {

extern const std::string_view kOpenApiText;

}  // namespace pitwall::insights
