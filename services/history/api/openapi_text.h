// Text of openapi.yaml, embedded at build time.
#pragma once

#include <string_view>

namespace pitwall::history {

extern const std::string_view kOpenApiText;

}  // namespace pitwall::history
