// Display order for query results. Rule results do not need an order, because sort() and similar
// functions only affect the display.
#pragma once

#include <string_view>
#include <vector>

#include "rules/lang/ast.h"
#include "services/offline/query.h"

namespace pitwall::offline {

// Sorts the elements of one tick. They must already be ordered by labels. The function at the root
// of the expression determines the order: sort(), sort_desc(), sort_by_label(), topk(), and so on.
void OrderForDisplay(const lang::Expr& root, std::vector<QueryElement>* elements);

// Returns true if `a` precedes `b` in natural order, which compares numbers within strings by
// value: "cpu2" precedes "cpu10".
bool NaturallyBefore(std::string_view a, std::string_view b);

}  // namespace pitwall::offline
