#include "rules/plan/query.h"

#include <utility>

#include "rules/check/rule_set.h"
#include "rules/check/types.h"
#include "rules/lang/files/rule_file.h"
#include "rules/lang/parser.h"
#include "rules/plan/planner/planner.h"

namespace pitwall::plan {

namespace {

// `own` contains the parser's diagnostics. The expression is null if the parser reported an error.
StatusOr<QueryProgram> Compile(const lang::Source& source, lang::ExprPtr expr,
                               const QueryOptions& options, bool stored, lang::Diagnostics own,
                               lang::Diagnostics* diagnostics) {
  if (options.interval <= Duration::Zero() || options.lookback <= Duration::Zero() ||
      options.subquery_interval <= Duration::Zero()) {
    return InvalidArgument("query intervals must be greater than 0");
  }
  lang::RuleText rule;
  rule.alert = false;
  rule.name = "query_result";
  rule.expr.source = source;
  rule.expr.expr = std::move(expr);
  QueryProgram out;
  out.scalar = rule.expr.expr != nullptr && check::TypeOf(*rule.expr.expr) == check::Type::kScalar;

  auto file = std::make_shared<lang::RuleFile>();
  file->file = rule.expr.source.file();
  file->pack = "query";
  lang::GroupText group;
  group.name = "query";
  group.interval = options.interval.ns();
  group.align_job = true;
  group.lookback = options.lookback.ns();
  group.rules.push_back(std::move(rule));
  file->groups.push_back(std::move(group));

  if (!own.HasErrors()) {
    check::CheckOptions check;
    check.default_interval = options.subquery_interval.ns();
    check.default_lookback = options.lookback.ns();
    check.default_step_interval = kDefaultStepInterval;
    check.default_step_lookback = kDefaultStepLookback;
    check.stored_samples = stored;
    const check::CheckedRuleSet checked = check::CheckRuleSet({std::move(file)}, check, &own);
    if (!own.HasErrors()) out.program = std::make_shared<Program>(PlanRuleSet(checked));
  }
  own.Sort();
  const Status status = own.ToStatus();
  const bool lacking = own.OnlyUnsupported();
  if (diagnostics != nullptr) diagnostics->Append(std::move(own));
  if (status.ok()) return out;
  return lacking ? Unimplemented(ToStd(status.message())) : status;
}

}  // namespace

StatusOr<QueryProgram> CompileQuery(std::string_view text, const QueryOptions& options,
                                    lang::Diagnostics* diagnostics) {
  lang::Diagnostics own;
  const lang::Source source("query", std::string(text));
  lang::ExprPtr expr = lang::ParseExpr(source, &own);
  return Compile(source, std::move(expr), options, /*stored=*/false, std::move(own), diagnostics);
}

StatusOr<QueryProgram> CompileStoredQuery(const lang::Source& source, lang::ExprPtr expr,
                                          const QueryOptions& options,
                                          lang::Diagnostics* diagnostics) {
  return Compile(source, std::move(expr), options, /*stored=*/true, {}, diagnostics);
}

}  // namespace pitwall::plan
