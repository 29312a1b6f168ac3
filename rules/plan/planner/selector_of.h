// Conversion of a parsed selector to one that matches label sets.
#pragma once

#include "rules/lang/ast.h"
#include "services/base/status.h"
#include "services/model/matcher.h"

namespace pitwall::plan {

// The name becomes a matcher of __name__. Returns InvalidArgument for an invalid regular
// expression.
StatusOr<Selector> SelectorOf(const lang::SelectorExpr& expr);

}  // namespace pitwall::plan
