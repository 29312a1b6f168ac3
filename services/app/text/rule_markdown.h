// Markdown page of the rules of a program. docs/rules.md is the page of the shipped packs.
#pragma once

#include <string>
#include <string_view>

#include "rules/plan/program/program.h"

namespace pitwall {

// Returns a section per pack with a section per alert: texts, expression, needs, parameters with
// units and defaults, and explained issues. A table of the recordings of the pack follows.
std::string RulesAsMarkdown(const plan::Program& program);

// Returns a template as prose, with the value of each action in angle brackets.
// "GPU {{ $labels.gpu }} is {{ $value | humanizePercentage }} busy" -> "GPU <gpu> is <value> busy".
std::string TemplateAsProse(std::string_view text);

}  // namespace pitwall
