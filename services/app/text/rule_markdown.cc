#include "services/app/text/rule_markdown.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "rules/plan/program/parameter_owner.h"
#include "rules/plan/program/shown_text.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall {

namespace {

struct Entry {
  const plan::DomainPlan* domain;
  const plan::Group* group;
  const plan::Rule* rule;
};

std::string_view TextOf(const std::vector<plan::Template>& templates, std::string_view name) {
  for (const plan::Template& one : templates) {
    if (one.name == name) return one.text;
  }
  return "";
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == '\n' || c == ' ';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// Escapes text for use in a table cell.
std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : OneLine(text)) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string Code(std::string_view text) { return Cat("`", text, "`"); }

std::string Length(const plan::DomainPlan& domain, Duration length) {
  if (!domain.demands.clock.step) return FormatDuration(length.ns());
  const int64_t steps = length / kStepLength;
  return Cat(steps, steps == 1 ? " step" : " steps");
}

std::string When(const Entry& entry) {
  const plan::Rule& rule = *entry.rule;
  std::string out = entry.domain->demands.clock.step
                        ? Cat("on the step clock (", entry.domain->demands.clock.mode, ")")
                        : std::string("on the time clock");
  CatTo(out, ", every ", Length(*entry.domain, entry.group->interval));
  if (rule.hold > Duration::Zero()) CatTo(out, ", for ", Length(*entry.domain, rule.hold));
  if (rule.keep_firing > Duration::Zero())
    CatTo(out, ", keeps firing ", Length(*entry.domain, rule.keep_firing));
  if (rule.unsteady > Duration::Zero())
    CatTo(out, ", one issue while it comes back within ", FormatDuration(rule.unsteady.ns()));
  if (rule.scope == plan::AlertScope::kAttempt) out += ", ends with the attempt";
  if (!rule.fold.empty()) CatTo(out, ", one issue for every ", Join(rule.fold, ", "), " together");
  return out;
}

void WriteAlert(const Entry& entry, std::string* out) {
  const plan::Rule& rule = *entry.rule;
  const auto node = [&](plan::NodeId id) {
    return plan::ShownText(*entry.domain, entry.domain->nodes[id.index()]);
  };
  CatTo(*out, "### ", rule.alert, "\n\n");
  for (const std::string_view name : {"summary", "description"}) {
    const std::string_view text = TextOf(rule.annotations, name);
    if (!text.empty()) CatTo(*out, OneLine(TemplateAsProse(text)), "\n\n");
  }
  if (const std::string_view text = TextOf(rule.annotations, "suggestion"); !text.empty())
    CatTo(*out, "**What to do.** ", OneLine(TemplateAsProse(text)), "\n\n");
  CatTo(*out, "| | |\n|---|---|\n| rule | ", Code(rule.name), " |\n");
  for (const std::string_view name : {"severity", "category", "action"}) {
    if (const std::string_view text = TextOf(rule.labels, name); !text.empty())
      CatTo(*out, "| ", name, " | ", Cell(text), " |\n");
  }
  CatTo(*out, "| evaluated | ", When(entry), " |\n");
  CatTo(*out, "| fires when | ", Code(Cell(node(rule.expr))), " |\n");
  if (rule.clear != plan::kNoNode)
    CatTo(*out, "| ends when | ", Code(Cell(node(rule.clear))), " |\n");
  if (!rule.needs.empty()) {
    std::vector<std::string> needs;
    for (const plan::Need& need : rule.needs) needs.push_back(Code(need.metric));
    CatTo(*out, "| needs | ", Join(needs, ", "), " |\n");
  }
  if (!rule.explains.empty()) {
    std::vector<std::string> explained;
    for (const plan::Explains& one : rule.explains) {
      std::vector<std::string> terms;
      if (!one.equal.empty()) terms.push_back(Cat("same ", Join(one.equal, ", ")));
      if (one.job_wide) terms.push_back("any rank and node");
      if (one.within) terms.push_back(Cat("begun within ", FormatDuration(one.within->ns())));
      explained.push_back(terms.empty() ? one.alert : Cat(one.alert, " (", Join(terms, "; "), ")"));
    }
    CatTo(*out, "| explains | ", Join(explained, ", "), " |\n");
  }
  *out += "\n";
  if (rule.parameters.empty()) return;
  *out += "| parameter | default | unit | |\n|---|---|---|---|\n";
  for (const uint32_t index : rule.parameters) {
    const plan::Parameter& parameter = entry.domain->parameters[index];
    CatTo(*out, "| ", Code(parameter.name), " | ", Cell(plan::ShownValue(parameter)), " | ",
          Cell(parameter.unit), " | ", Cell(parameter.help), " |\n");
  }
  *out += "\n";
}

}  // namespace

std::string TemplateAsProse(std::string_view text) {
  std::string out;
  while (true) {
    const size_t begin = text.find("{{");
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const size_t end = text.find("}}", begin);
    if (end == std::string_view::npos) return Cat(out, text.substr(begin));
    std::string_view action = Trim(text.substr(begin + 2, end - begin - 2));
    text.remove_prefix(end + 2);
    if (StartsWith(action, "-")) action = Trim(action.substr(1));
    if (EndsWith(action, "-")) action = Trim(action.substr(0, action.size() - 1));
    // The placeholder is named after the first variable in the action. Control actions and actions
    // without a variable are removed.
    const size_t dollar = action.find('$');
    const std::string_view word = action.substr(0, action.find_first_of(" ("));
    if (dollar == std::string_view::npos || word == "if" || word == "range" || word == "with" ||
        word == "else" || word == "end" || word == "define" || word == "template") {
      continue;
    }
    std::string_view name = action.substr(dollar + 1);
    name = name.substr(0, name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."));
    if (const size_t dot = name.find('.'); dot != std::string_view::npos)
      name.remove_prefix(dot + 1);
    CatTo(out, "<", name, ">");
  }
}

std::string RulesAsMarkdown(const plan::Program& program) {
  std::map<std::string, std::vector<Entry>> packs;
  for (const plan::DomainPlan& domain : program.domains) {
    for (const plan::Group& group : domain.groups) {
      const std::string pack = group.name.substr(0, group.name.find('/'));
      for (const plan::Rule& rule : group.rules) packs[pack].push_back({&domain, &group, &rule});
    }
  }
  std::string out;
  for (auto& [pack, entries] : packs) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.rule->line < b.rule->line; });
    CatTo(out, "## ", pack, "\n\n");
    for (const Entry& entry : entries) {
      if (entry.rule->kind == plan::RuleKind::kAlert) WriteAlert(entry, &out);
    }
    bool first = true;
    for (const Entry& entry : entries) {
      if (entry.rule->kind == plan::RuleKind::kAlert) continue;
      if (first) out += "Recorded:\n\n| series | every | from |\n|---|---|---|\n";
      first = false;
      CatTo(
          out, "| ", Code(entry.rule->alert), " | ", Length(*entry.domain, entry.group->interval),
          " | ",
          Code(Cell(plan::ShownText(*entry.domain, entry.domain->nodes[entry.rule->expr.index()]))),
          " |\n");
    }
    if (!first) out += "\n";
  }
  return out;
}

}  // namespace pitwall
