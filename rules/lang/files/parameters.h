// Structural parameters of an expression: the text of a matcher (x{tensor=~$tensor_regex}) and the
// length of a sample window (x[$window samples]). All other parameters are numbers and are read
// during evaluation.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "rules/lang/files/rule_file.h"

namespace pitwall::lang {

// Values of structural parameters that differ from the file, as a map from (rule, parameter) to
// text.
using JobRegistry = std::map<std::pair<std::string, std::string>, std::string>;

// IsMatcherText returns true if the parameter is a matcher's value, and IsSampleCount if it is the
// length of a sample window.
bool IsMatcherText(const RuleText& rule, std::string_view parameter);
bool IsSampleCount(const RuleText& rule, std::string_view parameter);

// Substitutes the rule's parameters in its expressions. An invalid count (not a positive integer)
// becomes 0, which rules/check rejects.
void BindParameters(RuleText* rule);
// Substitutes the given values instead. Rule names are the same as in rules/check:
// pack/group/rule[#n].
void BindParameters(const JobRegistry& bindings, RuleFile* file);

}  // namespace pitwall::lang
