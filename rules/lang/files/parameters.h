// Parameters that belong to the structure of an expression: the text of a matcher
// (x{tensor=~$tensor_regex}) and the length of a sample window (x[$window samples]). Other
// parameters are numbers, which are read during evaluation.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "rules/lang/files/rule_file.h"

namespace pitwall::lang {

// Values of structural parameters that differ from the file: (rule, parameter) -> text.
using JobRegistry = std::map<std::pair<std::string, std::string>, std::string>;

// Whether the parameter is the value of a matcher or the length of a sample window.
bool IsMatcherText(const RuleText& rule, std::string_view parameter);
bool IsSampleCount(const RuleText& rule, std::string_view parameter);

// Substitutes the rule's parameters into its expressions. An invalid count (not a positive integer)
// becomes 0, which rules/check rejects.
void BindParameters(RuleText* rule);
// Substitutes other values. Rule names are those of rules/check: pack/group/rule[#n].
void BindParameters(const JobRegistry& bindings, RuleFile* file);

}  // namespace pitwall::lang
