#include "services/app/text/rules_check_json.h"

#include "rules/plan/cost/program_text.h"
#include "services/codec/json/json_writer.h"

namespace pitwall {

namespace {

using codec::JsonWriter;

void Number(JsonWriter& out, std::string_view key, double value) {
  out.Key(key);
  out.Double(value);
}
void Count(JsonWriter& out, std::string_view key, uint64_t value) {
  out.Key(key);
  out.Uint(value);
}
void Text(JsonWriter& out, std::string_view key, std::string_view value) {
  out.Key(key);
  out.String(value);
}

void WriteDiagnostic(JsonWriter& out, const lang::Diagnostic& diagnostic) {
  out.BeginObject();
  Text(out, "severity",
       diagnostic.severity == lang::Severity::kError     ? "error"
       : diagnostic.severity == lang::Severity::kWarning ? "warning"
                                                         : "info");
  Text(out, "file", diagnostic.file);
  Count(out, "line", static_cast<uint64_t>(diagnostic.line));
  Count(out, "column", static_cast<uint64_t>(diagnostic.column));
  Text(out, "message", diagnostic.message);
  out.EndObject();
}

void WriteRule(JsonWriter& out, const plan::Program& program, const plan::RuleCost& cost) {
  const plan::DomainPlan& domain = program.domains[cost.domain];
  const double seconds = static_cast<double>(cost.group->interval.ns()) / 1e9;
  out.BeginObject();
  Text(out, "name", cost.rule->name);
  Text(out, "file", cost.rule->file);
  Count(out, "line", static_cast<uint64_t>(cost.rule->line));
  Text(out, "clock", domain.demands.clock.ToString());
  Number(out, "interval", seconds);
  Text(out, "cost_class", plan::CostClassName(cost.cost_class()));
  Number(out, "state_bytes_per_series", cost.state_bytes);
  Number(out, "label_bytes_per_series", cost.label_bytes);
  Number(out, "work_ns_per_series", cost.work_ns);
  out.Key("windows");
  out.BeginArray();
  for (const plan::WindowCost& window : cost.windows) {
    out.BeginObject();
    Text(out, "text", plan::WindowText(domain, window));
    Text(out, "family", window.shape.family);
    Count(out, "panes", static_cast<uint64_t>(window.shape.panes));
    Number(out, "samples", window.samples);
    Number(out, "state_bytes_per_series", window.state_bytes);
    Number(out, "work_ns_per_series", window.ns_per_second * seconds);
    out.EndObject();
  }
  out.EndArray();
  out.Key("subqueries");
  out.BeginArray();
  for (const plan::SubqueryCost& subquery : cost.subqueries) {
    const plan::Subquery& planned = domain.subqueries[subquery.index];
    out.BeginObject();
    Text(out, "expr", domain.nodes[planned.expr.index()].text);
    Number(out, "step", static_cast<double>(planned.step.ns()) / 1e9);
    Count(out, "depth", static_cast<uint64_t>(subquery.depth));
    Number(out, "evaluations_per_window", subquery.evaluations);
    Number(out, "evaluations_per_evaluation", subquery.evaluations_per_tick);
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
}

void WriteTotal(JsonWriter& out, const plan::TotalCost& total) {
  out.BeginObject();
  out.Text("file", total.file);
  Count(out, "rules", total.rules);
  Count(out, "windows", total.windows);
  Number(out, "state_bytes", total.state_bytes);
  Number(out, "cores", total.cores);
  Number(out, "ns_per_step", total.ns_per_step);
  out.EndObject();
}

}  // namespace

std::string RulesReport(const lang::Diagnostics& diagnostics, const plan::Program* program,
                        const plan::CostOptions& options) {
  JsonWriter out;
  out.BeginObject();
  out.Key("diagnostics");
  out.BeginArray();
  for (const lang::Diagnostic& diagnostic : diagnostics.list()) WriteDiagnostic(out, diagnostic);
  out.EndArray();
  if (program != nullptr) {
    const plan::ProgramCost cost = plan::EstimateCost(*program, options);
    Text(out, "rule_set", program->hash);
    Count(out, "series", static_cast<uint64_t>(options.series));
    Number(out, "sample_interval", static_cast<double>(options.sample_interval.ns()) / 1e9);
    out.Key("rules");
    out.BeginArray();
    for (const plan::RuleCost& rule : cost.rules) WriteRule(out, *program, rule);
    out.EndArray();
    out.Key("files");
    out.BeginArray();
    for (const plan::TotalCost& total : cost.files) WriteTotal(out, total);
    out.EndArray();
    out.Key("total");
    WriteTotal(out, cost.total);
  }
  out.EndObject();
  return out.Take();
}

}  // namespace pitwall
