// A report as one HTML file: style and charts inside, no script, nothing fetched.
#pragma once

#include <string>
#include <string_view>

#include "services/history/report/document.h"

namespace pitwall::history {

// Of the file, as a meta element, and of the answer that carries it.
inline constexpr std::string_view kReportPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

std::string ReportHtml(const Document& document);

}  // namespace pitwall::history
