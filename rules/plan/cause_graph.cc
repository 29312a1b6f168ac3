#include "rules/plan/cause_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/text/strings.h"
#include "services/model/issues/cause_class.h"

namespace pitwall::plan {
namespace {

struct Edge {
  std::string to;
  const check::CheckedGroup* group = nullptr;
  const lang::ExplainsText* text = nullptr;
};

struct Alert {
  // Categories of the alert's rules; "" for a rule without a category.
  std::set<std::string> categories;
  std::vector<Edge> edges;  // in rule-set order
};

class Graph {
 public:
  Graph(const check::CheckedRuleSet& rule_set, lang::Diagnostics* diagnostics)
      : diagnostics_(diagnostics) {
    for (const check::CheckedGroup& group : rule_set.groups) {
      for (const check::CheckedRule& rule : group.rules) {
        if (rule.text->alert) Add(group, rule);
      }
    }
  }

  void CheckOrder() {
    for (const auto& [name, alert] : alerts_) {
      for (const Edge& edge : alert.edges) {
        const auto symptom = alerts_.find(edge.to);
        if (symptom == alerts_.end()) continue;
        for (const std::string& from : alert.categories) {
          for (const std::string& to : symptom->second.categories) {
            if (MayExplain(from, to)) continue;
            Error(edge, Cat("an alert of category ", from, " cannot explain ", edge.to,
                            ", which is of category ", to,
                            "; remove it, or let the other alert explain this one"));
          }
        }
      }
    }
  }

  // Walks the graph in name order, and reports one error per edge that closes a cycle.
  void CheckCycles() {
    for (const auto& [name, alert] : alerts_) Walk(name);
  }

 private:
  enum class Mark { kUnseen, kOnPath, kDone };

  void Add(const check::CheckedGroup& group, const check::CheckedRule& rule) {
    Alert& alert = alerts_[rule.text->name];
    std::string category;
    for (const check::CheckedText& label : rule.labels) {
      if (label.name == "category") category = label.text;
    }
    alert.categories.insert(std::move(category));
    for (const lang::ExplainsText& text : rule.text->explains)
      alert.edges.push_back({text.alert, &group, &text});
  }

  // Walks depth first without recursion, because a set may have a chain of 20,000 rules.
  void Walk(const std::string& start) {
    if (marks_[start] != Mark::kUnseen) return;
    struct Step {
      std::string name;
      size_t next = 0;
    };
    std::vector<Step> path = {{start}};
    marks_[start] = Mark::kOnPath;
    while (!path.empty()) {
      const Alert& alert = alerts_[path.back().name];
      if (path.back().next == alert.edges.size()) {
        marks_[path.back().name] = Mark::kDone;
        path.pop_back();
        continue;
      }
      const Edge& edge = alert.edges[path.back().next++];
      if (!alerts_.contains(edge.to)) continue;
      Mark& mark = marks_[edge.to];
      if (mark == Mark::kUnseen) {
        mark = Mark::kOnPath;
        path.push_back({edge.to});
      } else if (mark == Mark::kOnPath) {
        std::string cycle;
        bool inside = false;
        for (const Step& step : path) {
          inside = inside || step.name == edge.to;
          if (inside) CatTo(cycle, step.name, " explains ");
        }
        Error(edge, Cat("a cycle of causes: ", cycle, edge.to,
                        "; remove one of these relations, so that a root is left"));
      }
    }
  }

  void Error(const Edge& edge, const std::string& problem) {
    diagnostics_->Add(lang::Severity::kError, edge.group->file->file, edge.text->position,
                      Cat("\"explains\": ", problem));
  }

  lang::Diagnostics* const diagnostics_;
  std::map<std::string, Alert> alerts_;
  std::map<std::string, Mark> marks_;
};

}  // namespace

void CheckCauseGraph(const check::CheckedRuleSet& rule_set, lang::Diagnostics* diagnostics) {
  Graph graph(rule_set, diagnostics);
  graph.CheckOrder();
  graph.CheckCycles();
}

}  // namespace pitwall::plan
