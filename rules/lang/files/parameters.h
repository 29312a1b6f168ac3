// Parameters that are part of an expression's structure: the text of a matcher
// (x{tensor=~$tensor_regex}) and the length of a window of samples (x[$window samples]). Other
// parameters are numbers, which an evaluation reads.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "rules/lang/files/rule_file.h"

namespace pitwall::lang {

// Texts of structural parameters that differ from the file's: (rule, parameter) -> text.
using JobRegistry = std::map<std::pair<std::string, std::string>, std::string>;

// Whether the parameter is the value of a matcher, or counts the samples of a window.
bool IsMatcherText(const RuleText& rule, std::string_view parameter);
bool IsSampleCount(const RuleText& rule, std::string_view parameter);

// Writes the rule's parameters into its expressions. A count that is not a whole number from 1 on
// becomes 0, which rules/check refuses.
void BindParameters(RuleText* rule);
// The same after other values were set. Names are those of rules/check: pack/group/rule[#n].
void BindParameters(const JobRegistry& bindings, RuleFile* file);

}  // namespace pitwall::lang
