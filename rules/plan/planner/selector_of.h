// A selector as it is written, as one that matches label sets.
#pragma once

#include "rules/lang/ast.h"
#include "services/base/status.h"
#include "services/model/matcher.h"

namespace pitwall::plan {

// The name is a matcher of __name__. InvalidArgument: a pattern is not a regular expression.
StatusOr<Selector> SelectorOf(const lang::SelectorExpr& expr);

}  // namespace pitwall::plan
