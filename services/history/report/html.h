// Report as a single HTML file with inline styles and charts, and without scripts or external
// resources.
#pragma once

#include <string>
#include <string_view>

#include "services/history/report/document.h"

namespace pitwall::history {

// Content security policy. It is a meta element in the file and also a response header.
inline constexpr std::string_view kReportPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

std::string ReportHtml(const Document& document);

}  // namespace pitwall::history
