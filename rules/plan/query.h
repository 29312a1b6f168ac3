// Compiles a single expression for the streaming engine. Used for golden scripts, the differential
// test, and ad-hoc queries of finished jobs. The functions are pure and thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "rules/lang/ast.h"
#include "rules/lang/diagnostic.h"
#include "rules/lang/source.h"
#include "rules/plan/compile.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"
#include "services/base/time.h"

namespace pitwall::plan {

struct QueryOptions {
  // Interval between ticks, counted from `origin` (see SeriesStore::SetOrigin); > 0.
  Duration interval = Duration::Nanos(kDefaultInterval);
  Duration lookback = Duration::Nanos(kDefaultLookback);
  // Default step of subqueries.
  Duration subquery_interval = Duration::Nanos(kDefaultInterval);
};

struct QueryProgram {
  ProgramPtr program;   // one domain on the time clock, with one group and one recording rule
  bool scalar = false;  // true if the expression is a scalar; the rule's result is still a vector
};

// Compiles a query. Returns InvalidArgument if the expression is malformed or not valid in a rule;
// `diagnostics` (may be null) has the positions. Returns Unimplemented for valid PromQL that this
// engine does not support.
StatusOr<QueryProgram> CompileQuery(std::string_view text, const QueryOptions& options,
                                    lang::Diagnostics* diagnostics = nullptr);

// Compiles a query over stored samples (CheckOptions::stored_samples). `expr`, parsed from
// `source`, must not contain `@`: the caller must have converted it to offsets, which the demands
// keep unchanged.
StatusOr<QueryProgram> CompileStoredQuery(const lang::Source& source, lang::ExprPtr expr,
                                          const QueryOptions& options,
                                          lang::Diagnostics* diagnostics = nullptr);

}  // namespace pitwall::plan
