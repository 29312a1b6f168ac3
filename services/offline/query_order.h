// Display order of a query's elements. Rules have no order; sort() and similar functions are for
// display.
#pragma once

#include <string_view>
#include <vector>

#include "rules/lang/ast.h"
#include "services/offline/query.h"

namespace pitwall::offline {

// Sorts the elements of one tick, which are in label order, as the root of the expression requests:
// sort(), sort_desc(), sort_by_label(), topk(), …
void OrderForDisplay(const lang::Expr& root, std::vector<QueryElement>* elements);

// Natural order, which compares numbers in texts by value: "cpu2" is before "cpu10".
bool NaturallyBefore(std::string_view a, std::string_view b);

}  // namespace pitwall::offline
