// Checks for templates in labels and annotations: the syntax, whether the labels that a template
// reads can exist, and the queries, which are checked like the rule's own expression.
#include <algorithm>
#include <utility>

#include "rules/check/label_flow.h"
#include "rules/check/validators.h"
#include "rules/lang/parser.h"
#include "rules/templates/template.h"
#include "services/base/text/strings.h"
#include "services/model/labels.h"

namespace pitwall::check {
namespace {

using lang::Severity;

lang::Span SpanOf(size_t begin, size_t end) {
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

// Positions in the diagnostics refer to the query text, which printf may construct. The caret
// points to the query in the template.
std::shared_ptr<const lang::Expr> CheckQuery(const ExprContext& context,
                                             const lang::NamedText& text,
                                             const templates::TemplateQuery& query) {
  lang::Diagnostics inner;
  const lang::Source source("query", query.text);
  std::shared_ptr<const lang::Expr> expr = lang::ParseExpr(source, &inner);
  if (expr != nullptr) {
    const ExprContext of_query{source,          context.group,    context.rule,
                               context.options, context.recorded, &inner};
    if (CheckTypes(of_query, *expr)) {
      lang::Visit(*expr, [&](const lang::Expr& node) {
        if (node.As<lang::ParameterExpr>() != nullptr)
          of_query.Error(node.span, "a query in a template has no parameters");
      });
      CheckSupport(of_query, *expr);
      CheckWindows(of_query, *expr);
      CheckClock(of_query, *expr);
      CheckNames(of_query, *expr);
    }
  }
  const lang::Span span = SpanOf(query.begin, query.end);
  for (const lang::Diagnostic& diagnostic : inner.list()) {
    const std::string message = Cat("in this query, at ", diagnostic.line, ":", diagnostic.column,
                                    ": ", diagnostic.message);
    if (diagnostic.unsupported) {
      context.diagnostics->Unsupported(text.source, span, message);
    } else {
      context.diagnostics->Add(diagnostic.severity, text.source, span, message);
    }
  }
  return inner.HasErrors() ? nullptr : expr;
}

}  // namespace

std::vector<std::shared_ptr<const lang::Expr>> CheckTemplate(const ExprContext& context,
                                                             const lang::NamedText& text,
                                                             const LabelFlow* element) {
  std::vector<std::shared_ptr<const lang::Expr>> queries;
  templates::ParseProblem problem;
  const StatusOr<templates::Template> parsed =
      templates::Template::Parse(text.name, text.text(), &problem);
  if (!parsed.ok()) {
    const size_t end = std::min(problem.at + 2, text.text().size());
    context.diagnostics->Error(text.source, SpanOf(std::min(problem.at, end), end), problem.cause);
    return queries;
  }
  if (element != nullptr) {
    for (const templates::LabelUse& use : parsed->labels()) {
      if (use.name == kMetricName || element->MayHave(use.name)) continue;
      context.diagnostics->Add(
          Severity::kWarning, text.source, SpanOf(use.begin, use.end),
          Cat("$labels.", use.name, " is always empty: the expression has aggregated label ",
              Quote(use.name), " away"));
    }
  }
  for (const templates::TemplateQuery& query : parsed->queries())
    queries.push_back(CheckQuery(context, text, query));
  return queries;
}

void CheckFixedAnnotations(const ExprContext& context,
                           const std::vector<lang::NamedText>& annotations) {
  const auto refuse = [&](const lang::NamedText& text, std::string_view why) {
    context.diagnostics->Error(text.source, SpanOf(0, std::max<size_t>(text.text().size(), 1)),
                               Cat("annotation ", text.name, ": ", Quote(text.text()), why,
                                   ", or leave the annotation out"));
  };
  for (const lang::NamedText& text : annotations) {
    if (text.name == "capture" && text.text() != "stacks")
      refuse(text, " cannot be captured; use stacks");
    if (text.name == "onset" && text.text() != "value")
      refuse(text, " is not a valid onset; use value, where the value is the seconds since then");
  }
}

}  // namespace pitwall::check
