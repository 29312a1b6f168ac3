// One expression by itself, compiled as the streaming engine runs it: for golden scripts, the
// differential test and ad-hoc reads of finished jobs. Pure and thread-safe, as compile.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "rules/lang/ast.h"
#include "rules/lang/diagnostic.h"
#include "rules/lang/source.h"
#include "rules/plan/compile.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"

namespace pitwall::plan {

struct QueryOptions {
  // Ticks are `origin` (the store's, see SeriesStore::SetOrigin) plus multiples of it; > 0.
  int64_t interval = kDefaultInterval;
  int64_t lookback = kDefaultLookback;
  // Of subqueries without a step.
  int64_t subquery_interval = kDefaultInterval;
};

struct QueryProgram {
  ProgramPtr program;   // one domain on the time clock with one group with one recording rule
  bool scalar = false;  // the expression is a scalar; the rule's result is a vector all the same
};

// InvalidArgument: the expression is malformed, or no rule could have it; `diagnostics` (may be
// null) says where. Unimplemented: it is PromQL, and this engine cannot do it.
StatusOr<QueryProgram> CompileQuery(std::string_view text, const QueryOptions& options,
                                    lang::Diagnostics* diagnostics = nullptr);

// The same for a query over samples that are all there (CheckOptions::stored_samples). `expr`, of
// `source`, has no `@`: who evaluates it has put what it means by an offset into the offsets, which
// come back in the demands as they are.
StatusOr<QueryProgram> CompileStoredQuery(const lang::Source& source, lang::ExprPtr expr,
                                          const QueryOptions& options,
                                          lang::Diagnostics* diagnostics = nullptr);

}  // namespace pitwall::plan
