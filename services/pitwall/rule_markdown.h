// The rules of a program as a page for people: docs/rules.md is this of the shipped packs.
#pragma once

#include <string>
#include <string_view>

#include "rules/plan/program/program.h"

namespace pitwall {

// A section per pack, in it one per alert: what it says and suggests, what it looks at, what it
// needs, its parameters with units and defaults, which issues it explains; then a table of what
// the pack records.
std::string RulesAsMarkdown(const plan::Program& program);

// A template as prose: what the text will hold in place of each action is in angle brackets.
// "GPU {{ $labels.gpu }} is {{ $value | humanizePercentage }} busy" -> "GPU <gpu> is <value> busy".
std::string TemplateAsProse(std::string_view text);

}  // namespace pitwall
