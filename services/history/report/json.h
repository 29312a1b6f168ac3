// Report as JSON (docs/report.md).
#pragma once

#include <string>

#include "services/history/report/document.h"

namespace pitwall::history {

std::string ReportJson(const Document& document);

}  // namespace pitwall::history
