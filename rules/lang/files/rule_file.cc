#include "rules/lang/files/rule_file.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "rules/lang/files/parameters.h"
#include "rules/lang/lexer.h"
#include "rules/lang/parser.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/values.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::lang {
namespace {

using yaml::Node;
using yaml::Problem;
using yaml::StrictMap;

constexpr int64_t kMaxSteps = 1'000'000'000;

class Reader {
 public:
  Reader(RuleFile* file, Diagnostics* diagnostics) : file_(file), diagnostics_(diagnostics) {}

  void ReadFile(const Node& root) {
    StrictMap map(root, "a rule file", &problems_);
    if (const Node* groups = map.Get("groups")) {
      if (groups->IsSequence()) {
        for (const Node& group : groups->items()) ReadGroup(group);
      } else {
        map.Add(groups->position(), Cat("\"groups\": expected a list, found ", groups->KindName()));
      }
    }
    map.Finish();
    for (const Problem& problem : problems_) {
      diagnostics_->Add(Severity::kError, file_->file, problem.position, problem.what);
    }
  }

 private:
  void Add(Position position, std::string_view what) {
    problems_.push_back({position, std::string(what)});
  }

  // Reads a duration on the group's clock: 30s, or a number of steps.
  std::optional<int64_t> ReadDuration(StrictMap& map, std::string_view key, bool step_clock) {
    if (!step_clock) return map.Duration(key);
    const Node* node = map.Get(key);
    if (node == nullptr) return std::nullopt;
    const StatusOr<int64_t> steps = yaml::ToInt(*node);
    if (!steps.ok()) {
      Add(node->position(),
          Cat(Quote(key), ": durations on the step clock are plain numbers of steps, found ",
              node->IsScalar() ? Quote(node->scalar()) : std::string(node->KindName())));
      return std::nullopt;
    }
    if (*steps < 0 || *steps > kMaxSteps) {
      Add(node->position(),
          Cat(Quote(key), ": ", *steps, " steps is out of range, allowed is 0 to ", kMaxSteps));
      return std::nullopt;
    }
    return StepPosition(*steps);
  }

  void ReadGroup(const Node& node) {
    GroupText group;
    group.position = node.position();
    StrictMap map(node, "a rule group", &problems_);
    group.name = map.String("name").value_or("");
    if (group.name.empty()) {
      Add(map.KeyPosition("name"), "the group needs a name");
    } else if (!group_names_.insert(group.name).second) {
      Add(map.KeyPosition("name"),
          Cat("group name ", Quote(group.name), " is repeated in this file"));
    }
    ReadClock(map, &group);
    group.interval = ReadDuration(map, "interval", group.step_clock);
    if (group.interval == 0) group.interval.reset();  // as in Prometheus, 0 selects the default
    group.query_offset = ReadDuration(map, "query_offset", group.step_clock);
    group.lookback = ReadDuration(map, "lookback", group.step_clock);
    if (group.lookback == 0)
      Add(map.KeyPosition("lookback"), "\"lookback\" must be greater than 0");
    group.unsteady_ns = map.Duration("unsteady").value_or(0);
    group.limit = static_cast<uint32_t>(map.Int("limit", 0, 1'000'000'000).value_or(0));
    group.labels = ReadTexts(map, "labels", "label");
    if (const Node* rules = map.Get("rules")) {
      if (rules->IsSequence()) {
        for (const Node& rule : rules->items()) ReadRule(rule, group);
      } else {
        Add(rules->position(), Cat("\"rules\": expected a list, found ", rules->KindName()));
      }
    }
    map.Finish();
    file_->groups.push_back(std::move(group));
  }

  void ReadClock(StrictMap& map, GroupText* group) {
    const std::string clock = map.String("clock").value_or("time");
    if (clock != "time" && clock != "step") {
      Add(map.Get("clock")->position(),
          Cat("\"clock\" must be time or step, found ", Quote(clock)));
    }
    group->step_clock = clock == "step";
    const std::optional<std::string> mode = map.String("mode");
    if (mode && !group->step_clock) Add(map.KeyPosition("mode"), "\"mode\" needs clock: step");
    if (mode && mode->empty()) Add(map.KeyPosition("mode"), "\"mode\" must not be empty");
    if (group->step_clock) group->mode = mode.value_or("train");
    const std::optional<std::string> align = map.String("align");
    if (align && *align != "epoch" && *align != "job") {
      Add(map.Get("align")->position(),
          Cat("\"align\" must be epoch or job, found ", Quote(*align)));
    }
    group->align_job = align == "job";
    if (group->align_job && group->step_clock) {
      Add(map.KeyPosition("align"), "\"align: job\" is for the time clock; steps count from 0");
    }
  }

  std::vector<NamedText> ReadTexts(StrictMap& map, std::string_view key, std::string_view what) {
    std::vector<NamedText> out;
    for (const auto& [name, value] : map.Scalars(key)) {
      NamedText text;
      text.name = name;
      text.name_position = value->position();
      if (const Node* parent = map.Get(key)) {
        for (const Node::Entry& entry : parent->entries()) {
          if (entry.key == name) text.name_position = entry.key_position;
        }
      }
      if (name.empty() || name == kMetricName) {
        Add(text.name_position, Cat("invalid ", what, " name: ", Quote(name)));
      }
      text.source = Source::FromScalar(*value);
      // Line breaks and tabs are allowed. Other control characters, such as "\e", could control a
      // terminal.
      std::string printed = value->scalar();
      std::replace_if(
          printed.begin(), printed.end(),
          [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
      if (HasControl(printed) || HasControl(name)) {
        Add(value->position(),
            Cat("control character in the ", what, " ", Quote(TerminalLine(name)), " (",
                Quote(TerminalLine(printed)), ")"));
      }
      out.push_back(std::move(text));
    }
    return out;
  }

  ExprText ReadExpr(const Node& node) {
    ExprText text;
    text.source = Source::FromScalar(node);
    text.expr = ParseExpr(text.source, diagnostics_);
    return text;
  }

  void ReadRule(const Node& node, GroupText& group) {
    RuleText rule;
    rule.position = node.position();
    rule.name_position = node.position();
    StrictMap map(node, "a rule", &problems_);
    const std::optional<std::string> alert = map.String("alert");
    const std::optional<std::string> record = map.String("record");
    const bool has_alert = alert && !alert->empty();
    const bool has_record = record && !record->empty();
    if (has_alert && has_record) {
      Add(map.KeyPosition("record"), "only one of \"record\" and \"alert\" must be set");
    } else if (!has_alert && !has_record && (node.IsMap() || node.IsNull())) {
      Add(node.position(), "one of \"record\" or \"alert\" must be set");
    }
    rule.alert = has_alert || !has_record;
    rule.name = rule.alert ? alert.value_or("") : *record;
    const Node* name = map.Get(rule.alert ? "alert" : "record");
    if (name != nullptr) rule.name_position = name->position();
    if (!rule.alert && rule.name.find_first_of("{}") != std::string::npos) {
      Add(rule.name_position,
          Cat("braces in the name of a recording rule; should they be in expr? ",
              Quote(rule.name)));
    }

    const Node* expr = map.Get("expr");
    if (expr != nullptr && expr->IsScalar() && !expr->scalar().empty()) {
      rule.expr = ReadExpr(*expr);
    } else if (expr != nullptr && !expr->IsScalar()) {
      Add(expr->position(), Cat("\"expr\": expected a string, found ", expr->KindName()));
    } else if (node.IsMap()) {
      Add(map.KeyPosition("expr"), "\"expr\" must be set in a rule");
    }
    if (const Node* clear = map.Get("clear")) {
      if (clear->IsScalar()) {
        rule.clear = ReadExpr(*clear);
      } else {
        Add(clear->position(), Cat("\"clear\": expected a string, found ", clear->KindName()));
      }
    }
    rule.hold = ReadDuration(map, "for", group.step_clock).value_or(0);
    rule.hold_position = map.KeyPosition("for");
    rule.keep_firing = ReadDuration(map, "keep_firing_for", group.step_clock).value_or(0);
    const std::optional<int64_t> unsteady = ReadDuration(map, "unsteady", false);
    if (rule.alert) rule.unsteady_ns = unsteady.value_or(group.unsteady_ns);
    ReadScope(map, group, &rule);
    ReadParameters(map, &rule);
    ReadFold(map, &rule);
    ReadNeeds(map, &rule);
    ReadExplains(map, &rule);
    rule.labels = ReadTexts(map, "labels", "label");
    if (map.String("scope") == "node") AddNodeScope(map, &rule);
    rule.annotations = ReadTexts(map, "annotations", "annotation");
    if (!rule.alert) {
      for (const std::string_view key : {"for", "keep_firing_for", "unsteady", "clear", "scope",
                                         "fold", "needs", "explains", "annotations"}) {
        if (map.Get(key) != nullptr && !(key == "for" && rule.hold == 0)) {
          Add(map.KeyPosition(key), Cat("invalid field ", Quote(key), " in a recording rule"));
        }
      }
    }
    map.Finish();
    group.rules.push_back(std::move(rule));
  }

  void ReadScope(StrictMap& map, const GroupText& group, RuleText* rule) {
    const std::optional<std::string> scope = map.String("scope");
    if (!scope) return;
    if (*scope == "attempt") {
      rule->scope = Scope::kAttempt;
    } else if (*scope == "job" || *scope == "node") {
      rule->scope = Scope::kJob;
      if (group.step_clock) {
        Add(map.KeyPosition("scope"), "rules on the step clock always have scope: attempt");
      }
    } else {
      Add(map.Get("scope")->position(),
          Cat("\"scope\" must be node, job or attempt, found ", Quote(*scope)));
    }
  }

  // Handles `scope: node`, for node conditions that do not depend on the job. The scope has the
  // same lifetime as `scope: job`, and adds a label by which receivers can group the issues of all
  // jobs on the node.
  void AddNodeScope(StrictMap& map, RuleText* rule) {
    const Position position = map.Get("scope")->position();
    const bool labeled = std::any_of(rule->labels.begin(), rule->labels.end(),
                                     [](const NamedText& label) { return label.name == "scope"; });
    if (labeled)
      Add(position, "\"scope: node\" sets the label \"scope\"; remove it from \"labels\"");
    if (labeled) return;
    NamedText& label = rule->labels.emplace_back();
    label.name = "scope";
    label.name_position = position;
    label.source = Source(file_->file->name(), "node");
  }

  void ReadParameters(StrictMap& map, RuleText* rule) {
    const Node* params = map.Get("params");
    if (params == nullptr) return;
    if (!params->IsMap()) {
      Add(params->position(),
          Cat("\"params\": expected a map of parameters, found ", params->KindName()));
      return;
    }
    for (const Node::Entry& entry : params->entries()) {
      if (!IsPlainLabelName(entry.key)) {
        Add(entry.key_position, Cat("invalid parameter name: ", Quote(entry.key)));
        continue;
      }
      // The parameter is added even if it is invalid, so that its uses are not reported as unknown.
      ParameterText& parameter = rule->parameters.emplace_back();
      parameter.name = entry.key;
      parameter.position = entry.key_position;
      if (entry.value.IsMap()) {
        StrictMap described(entry.value, "a parameter", &problems_);
        if (const Node* value = described.Get("value")) {
          ReadParameter(*rule, *value, &parameter);
        } else {
          described.Add(entry.value.position(),
                        Cat("parameter ", Quote(entry.key), " needs \"value\""));
        }
        parameter.unit = described.String("unit").value_or("");
        parameter.help = described.String("help").value_or("");
        described.Finish();
      } else {
        ReadParameter(*rule, entry.value, &parameter);
      }
    }
    BindParameters(rule);
  }

  void ReadParameter(const RuleText& rule, const Node& node, ParameterText* parameter) {
    if (node.IsScalar()) parameter->text = node.scalar();
    if (const StatusOr<double> value = yaml::ToNumber(node); value.ok()) {
      parameter->value = *value;
      return;
    }
    if (node.IsScalar() && IsMatcherText(rule, parameter->name)) return;
    Add(node.position(),
        Cat("parameter ", Quote(parameter->name), " must be a number, found ",
            node.IsScalar() ? Quote(node.scalar()) : std::string(node.KindName())));
  }

  void ReadExplains(StrictMap& map, RuleText* rule) {
    const Node* explains = map.Get("explains");
    if (explains == nullptr) return;
    if (!explains->IsSequence()) {
      Add(explains->position(),
          Cat("\"explains\": expected a list of alerts, found ", explains->KindName()));
      return;
    }
    for (const Node& item : explains->items()) {
      ExplainsText& explained = rule->explains.emplace_back();
      explained.position = item.position();
      if (item.IsMap()) {
        StrictMap fields(item, "an explained alert", &problems_);
        explained.alert = fields.String("alert").value_or("");
        explained.equal = fields.Strings("equal").value_or(std::vector<std::string>());
        ReadExplainsScope(fields, &explained);
        for (const FoldText& label : rule->fold) {
          if (std::find(explained.equal.begin(), explained.equal.end(), label.label) !=
              explained.equal.end())
            Add(item.position(), Cat("\"explains\": ", Quote(label.label),
                                     " is in \"fold\", so issues do not have it"));
        }
        fields.Finish();
      } else if (item.IsScalar()) {
        explained.alert = item.scalar();
      }
      if (explained.alert.empty()) {
        Add(item.position(), "\"explains\": expected the name of an alert");
      } else if (explained.alert == rule->name) {
        Add(item.position(), "a rule cannot explain its own issues");
      }
    }
  }

  void ReadExplainsScope(StrictMap& fields, ExplainsText* explained) {
    if (const auto scope = fields.String("scope")) {
      explained->job_wide = *scope == "job";
      if (*scope != "job" && *scope != "same") {
        Add(explained->position,
            Cat("\"explains\": unknown scope ", Quote(*scope), "; expected same or job"));
      }
    }
    if (const auto lag = fields.Duration("lag")) explained->lag = *lag;
    if (const auto within = fields.Duration("within")) explained->within = *within;
  }

  void ReadFold(StrictMap& map, RuleText* rule) {
    const Node* fold = map.Get("fold");
    if (fold == nullptr) return;
    if (!fold->IsSequence() || fold->items().empty()) {
      Add(fold->position(), Cat("\"fold\": expected a list of label names, found ",
                                fold->IsSequence() ? "an empty list" : fold->KindName()));
      return;
    }
    for (const Node& item : fold->items()) {
      const std::string label = item.IsScalar() ? item.scalar() : std::string();
      const bool twice = std::any_of(rule->fold.begin(), rule->fold.end(),
                                     [&](const FoldText& other) { return other.label == label; });
      if (!IsPlainLabelName(label)) {
        Add(item.position(), Cat("\"fold\": expected the name of a label, found ",
                                 item.IsScalar() ? Quote(label) : std::string(item.KindName())));
      } else if (label == "alertname" || label == "severity") {
        Add(item.position(),
            Cat("\"fold\": ", Quote(label), " distinguishes issues; use another label"));
      } else if (twice) {
        Add(item.position(), Cat("\"fold\": duplicate label ", Quote(label)));
      } else {
        rule->fold.push_back({label, item.position()});
      }
    }
  }

  void ReadNeeds(StrictMap& map, RuleText* rule) {
    const Node* needs = map.Get("needs");
    if (needs == nullptr) return;
    if (!needs->IsSequence()) {
      Add(needs->position(),
          Cat("\"needs\": expected a list of metric names, found ", needs->KindName()));
      return;
    }
    rule->needs.emplace();
    for (const Node& need : needs->items()) {
      if (!need.IsScalar() || need.scalar().empty()) {
        Add(need.position(),
            Cat("\"needs\": expected the name of a metric, found ", need.KindName()));
        continue;
      }
      rule->needs->push_back({need.scalar(), need.position()});
    }
  }

  RuleFile* file_;
  Diagnostics* diagnostics_;
  std::vector<Problem> problems_;
  absl::flat_hash_set<std::string> group_names_;
};

// Converts "file:line:col: message" to a diagnostic.
Diagnostic FromStatus(const yaml::FileText& file, const Status& status) {
  Diagnostic diagnostic;
  diagnostic.file = file.name();
  diagnostic.message = std::string(ToStd(status.message()));
  std::string_view rest = diagnostic.message;
  if (!StartsWith(rest, Cat(file.name(), ":"))) return diagnostic;
  rest.remove_prefix(file.name().size() + 1);
  const std::vector<std::string_view> parts = Split(rest, ':');
  if (parts.size() < 3) {
    diagnostic.message = std::string(Trim(rest));
    return diagnostic;
  }
  const std::optional<int64_t> line = ParseInt(parts[0]);
  const std::optional<int64_t> column = ParseInt(parts[1]);
  if (!line || !column) {
    diagnostic.message = std::string(Trim(rest));
    return diagnostic;
  }
  diagnostic.line = static_cast<int>(*line);
  diagnostic.column = static_cast<int>(*column);
  diagnostic.source_line = file.Line(diagnostic.line);
  diagnostic.message = std::string(Trim(rest.substr(parts[0].size() + parts[1].size() + 2)));
  return diagnostic;
}

}  // namespace

std::shared_ptr<RuleFile> ParseRuleFile(std::string_view file_name, std::string_view text,
                                        Diagnostics* diagnostics) {
  auto file = std::make_shared<RuleFile>();
  file->pack = PackName(file_name);
  const StatusOr<Node> root = yaml::ParseYaml(file_name, text);
  if (!root.ok()) {
    file->file = std::make_shared<const yaml::FileText>(std::string(file_name), std::string(text));
    diagnostics->Add(FromStatus(*file->file, root.status()));
    return file;
  }
  file->file = root->file();
  Diagnostics own;
  Reader(file.get(), &own).ReadFile(*root);
  own.Sort();
  diagnostics->Append(std::move(own));
  return file;
}

std::string PackName(std::string_view file_name) {
  const size_t slash = file_name.rfind('/');
  if (slash != std::string_view::npos) file_name.remove_prefix(slash + 1);
  const size_t dot = file_name.rfind('.');
  if (dot != std::string_view::npos && dot > 0) file_name = file_name.substr(0, dot);
  return std::string(file_name);
}

}  // namespace pitwall::lang
