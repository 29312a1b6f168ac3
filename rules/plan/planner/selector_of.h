// Conversion of a parsed selector to a selector that matches label sets.
#pragma once

#include "rules/lang/ast.h"
#include "services/base/status.h"
#include "services/model/matcher.h"

namespace pitwall::plan {

// Converts the selector; its name becomes a matcher on __name__. Returns InvalidArgument for an
// invalid regular expression.
StatusOr<Selector> SelectorOf(const lang::SelectorExpr& expr);

}  // namespace pitwall::plan
