// Markdown page that documents a program's rules. docs/rules.md is this page for the shipped packs.
#pragma once

#include <string>
#include <string_view>

#include "rules/plan/program/program.h"

namespace pitwall {

// Returns one section per pack and one subsection per alert. A subsection contains the alert's
// summary and description, expression, required metrics, parameters with units and defaults, and
// the alerts that it explains. A table of the pack's recording rules follows the alerts.
std::string RulesAsMarkdown(const plan::Program& program);

// Converts a template to prose. Each action becomes a placeholder in angle brackets: "GPU {{
// $labels.gpu }} is {{ $value | humanizePercentage }} busy" becomes "GPU <gpu> is <value> busy".
std::string TemplateAsProse(std::string_view text);

}  // namespace pitwall
