// A report as JSON: docs/report.md.
#pragma once

#include <string>

#include "services/insights/report/document.h"

namespace pitwall::insights {

std::string ReportJson(const Document& document);

}  // namespace pitwall::insights
