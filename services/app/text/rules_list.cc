#include "services/app/text/rules_list.h"

#include <string_view>
#include <vector>

#include "rules/plan/program/parameter_owner.h"
#include "rules/plan/program/shown_text.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/model/position.h"

namespace pitwall {

namespace {

using codec::JsonWriter;

double Units(Duration length) { return static_cast<double>(length.ns()) / kStepUnit; }

void WriteTemplates(std::string_view key, const std::vector<plan::Template>& templates,
                    JsonWriter* out) {
  if (templates.empty()) return;
  out->Key(key);
  out->BeginObject();
  for (const plan::Template& one : templates) {
    out->Key(one.name);
    out->String(one.text);
  }
  out->EndObject();
}

void WriteRule(const plan::DomainPlan& domain, const plan::Group& group, const plan::Rule& rule,
               JsonWriter* out) {
  const auto text = [&](std::string_view key, plan::NodeId node) {
    if (node != plan::kNoNode) out->Text(key, plan::ShownText(domain, domain.nodes[node.index()]));
  };
  const bool alert = rule.kind == plan::RuleKind::kAlert;
  out->BeginObject();
  out->Text("rule", rule.name);
  out->Text("kind", alert ? "alert" : "record");
  out->Text("name", rule.alert);
  out->Text("file", rule.file);
  out->Key("line");
  out->Uint(static_cast<uint64_t>(rule.line));
  out->Text("clock", domain.demands.clock.step ? "step" : "time");
  out->Text("mode", domain.demands.clock.mode);
  out->Key("interval");
  out->Double(Units(group.interval));
  text("expr", rule.expr);
  if (alert) {
    out->Key("for");
    out->Double(Units(rule.hold));
    out->Key("keep_firing_for");
    out->Double(Units(rule.keep_firing));
    if (rule.unsteady > Duration::Zero()) {
      out->Key("unsteady");
      out->Double(static_cast<double>(rule.unsteady.ns()) / 1e9);
    }
    text("clear", rule.clear);
    out->Text("scope", rule.scope == plan::AlertScope::kJob ? "job" : "attempt");
    if (!rule.fold.empty()) {
      out->Key("fold");
      out->BeginArray();
      for (const std::string& label : rule.fold) out->String(label);
      out->EndArray();
    }
  }
  if (!rule.parameters.empty()) {
    out->Key("parameters");
    out->BeginObject();
    for (const uint32_t index : rule.parameters) {
      const plan::Parameter& parameter = domain.parameters[index];
      out->Key(parameter.name);
      out->BeginObject();
      out->Key("default");
      if (parameter.kind == plan::ParameterKind::kText) {
        out->String(parameter.text);
      } else {
        out->Double(parameter.value);
      }
      out->Text("unit", parameter.unit);
      out->Text("help", parameter.help);
      out->EndObject();
    }
    out->EndObject();
  }
  if (!rule.explains.empty()) {
    out->Key("explains");
    out->BeginArray();
    for (const plan::Explains& explained : rule.explains) {
      out->BeginObject();
      out->Text("alert", explained.alert);
      if (explained.job_wide) out->Text("scope", "job");
      if (!explained.equal.empty()) {
        out->Key("equal");
        out->BeginArray();
        for (const std::string& label : explained.equal) out->String(label);
        out->EndArray();
      }
      out->EndObject();
    }
    out->EndArray();
  }
  if (!rule.needs.empty()) {
    out->Key("needs");
    out->BeginArray();
    for (const plan::Need& need : rule.needs) out->String(need.metric);
    out->EndArray();
  }
  WriteTemplates("labels", rule.labels, out);
  WriteTemplates("annotations", rule.annotations, out);
  out->EndObject();
}

}  // namespace

std::string RulesAsTable(const plan::Program& program) {
  std::string out;
  for (const plan::DomainPlan& domain : program.domains) {
    for (const plan::Group& group : domain.groups) {
      for (const plan::Rule& rule : group.rules) {
        CatTo(out, rule.name, "  ", domain.demands.clock.ToString(), "  for ",
              domain.demands.clock.step ? Cat(FormatDouble(Units(rule.hold)), " steps")
                                        : FormatDuration(rule.hold.ns()));
        for (const uint32_t parameter : rule.parameters) {
          CatTo(out, "  ", domain.parameters[parameter].name, "=",
                plan::ShownValue(domain.parameters[parameter]));
        }
        for (const plan::Need& need : rule.needs) CatTo(out, "  needs ", need.metric);
        out += "\n";
      }
    }
  }
  return out;
}

std::string RulesAsJson(const plan::Program& program) {
  JsonWriter out;
  out.BeginArray();
  for (const plan::DomainPlan& domain : program.domains) {
    for (const plan::Group& group : domain.groups) {
      for (const plan::Rule& rule : group.rules) WriteRule(domain, group, rule, &out);
    }
  }
  out.EndArray();
  return out.Take();
}

}  // namespace pitwall
