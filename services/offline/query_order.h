// The order in which a query shows its elements. Rules have none; sort() and its like are for eyes.
#pragma once

#include <string_view>
#include <vector>

#include "rules/lang/ast.h"
#include "services/offline/query.h"

namespace pitwall::offline {

// Puts the elements of one tick, which stand in the order of labels, into the order that the root
// of the expression asks for: sort(), sort_desc(), sort_by_label(), topk(), …
void OrderForDisplay(const lang::Expr& root, std::vector<QueryElement>* elements);

// Numbers inside of texts compare as numbers: "cpu2" is before "cpu10".
bool NaturallyBefore(std::string_view a, std::string_view b);

}  // namespace pitwall::offline
