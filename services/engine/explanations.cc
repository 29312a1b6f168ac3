#include "services/engine/explanations.h"

#include <algorithm>
#include <tuple>

namespace pitwall::engine {

bool Precedes(const TrackedIssue& a, const TrackedIssue& b) {
  return std::tie(a.onset_ns, a.rule, a.labels) < std::tie(b.onset_ns, b.rule, b.labels);
}

void Explanations::SetProgram(const plan::Program* program) {
  relations_.clear();
  rules_.clear();
  explained_.clear();
  if (program == nullptr) return;
  std::vector<std::string> names;
  StringMap<std::vector<uint32_t>> rules_of_alert;
  for (const plan::Space& space : program->spaces) {
    for (const plan::Group& group : space.groups) {
      for (const plan::Rule& rule : group.rules) {
        if (rule.kind != plan::RuleKind::kAlert) continue;
        const auto number = static_cast<uint32_t>(names.size());
        names.push_back(rule.name);
        rules_of_alert[rule.alert].push_back(number);
        RuleLinks& links = rules_[rule.name];
        links.circle = number;
        for (const plan::Explains& explains : rule.explains) {
          const auto relation = static_cast<uint32_t>(relations_.size());
          links.relations.push_back(relation);
          explained_[explains.alert].push_back(relation);
          relations_.push_back({.alert = explains.alert, .equal = explains.equal});
        }
      }
    }
  }
  FindCircles(names, rules_of_alert);
  for (const auto& [name, links] : rules_) {
    for (const uint32_t relation : links.relations) relations_[relation].circle = links.circle;
  }
}

// Two rules are in one circle when each reaches the other. Only rules that explain something are
// walked, and packs have dozens of these.
void Explanations::FindCircles(const std::vector<std::string>& names,
                               const StringMap<std::vector<uint32_t>>& rules_of_alert) {
  std::vector<std::vector<uint32_t>> next(names.size());
  std::vector<uint32_t> walked;
  for (uint32_t i = 0; i < names.size(); ++i) {
    for (const uint32_t relation : rules_[names[i]].relations) {
      const auto symptoms = rules_of_alert.find(relations_[relation].alert);
      if (symptoms == rules_of_alert.end()) continue;
      next[i].insert(next[i].end(), symptoms->second.begin(), symptoms->second.end());
    }
    if (!next[i].empty()) walked.push_back(i);
  }
  std::vector<std::vector<uint8_t>> reaches(names.size());
  for (const uint32_t from : walked) {
    std::vector<uint8_t>& reached = reaches[from];
    reached.assign(names.size(), 0);
    std::vector<uint32_t> stack = next[from];
    while (!stack.empty()) {
      const uint32_t at = stack.back();
      stack.pop_back();
      if (reached[at] != 0) continue;
      reached[at] = 1;
      stack.insert(stack.end(), next[at].begin(), next[at].end());
    }
  }
  for (const uint32_t a : walked) {
    for (const uint32_t b : walked) {
      if (b >= a) break;
      if (reaches[a][b] == 0 || reaches[b][a] == 0) continue;
      rules_[names[a]].circle = rules_[names[b]].circle;
      break;
    }
  }
}

std::string Explanations::KeyOf(const Relation& relation, const Labels& labels) {
  std::string key;
  for (const std::string& name : relation.equal) {
    const std::string_view value = labels.Get(name);
    CatTo(key, value.size(), ":", value);
  }
  return key;
}

void Explanations::Add(const TrackedIssue& issue) {
  if (const auto links = rules_.find(issue.rule); links != rules_.end()) {
    for (const uint32_t r : links->second.relations) {
      Relation& relation = relations_[r];
      (issue.open ? relation.open_causes : relation.ended_causes)[KeyOf(relation, issue.labels)]
          .insert(&issue);
    }
  }
  if (!issue.open) return;
  if (const auto relations = explained_.find(issue.alert); relations != explained_.end()) {
    for (const uint32_t r : relations->second)
      relations_[r].open_symptoms[KeyOf(relations_[r], issue.labels)].insert(&issue);
  }
}

void Explanations::Remove(const TrackedIssue& issue) {
  const auto remove = [&](ByKey* from, const Relation& relation) {
    const auto at = from->find(KeyOf(relation, issue.labels));
    if (at == from->end()) return;
    at->second.erase(&issue);
    if (at->second.empty()) from->erase(at);
  };
  if (const auto links = rules_.find(issue.rule); links != rules_.end()) {
    for (const uint32_t r : links->second.relations)
      remove(issue.open ? &relations_[r].open_causes : &relations_[r].ended_causes, relations_[r]);
  }
  if (!issue.open) return;
  if (const auto relations = explained_.find(issue.alert); relations != explained_.end()) {
    for (const uint32_t r : relations->second) remove(&relations_[r].open_symptoms, relations_[r]);
  }
}

bool Explanations::IsNear(const TrackedIssue& cause, const TrackedIssue& symptom) const {
  return cause.onset_ns >= symptom.onset_ns - window_ns_ &&
         cause.onset_ns <= symptom.onset_ns + window_ns_;
}

const TrackedIssue* Explanations::StrongestCause(const TrackedIssue& symptom, bool open) const {
  const auto relations = explained_.find(symptom.alert);
  if (relations == explained_.end()) return nullptr;
  const auto links = rules_.find(symptom.rule);
  TrackedIssue first_near;  // precedes all that are near
  first_near.onset_ns = symptom.onset_ns - window_ns_;
  const TrackedIssue* best = nullptr;
  for (const uint32_t r : relations->second) {
    const Relation& relation = relations_[r];
    const ByKey& causes = open ? relation.open_causes : relation.ended_causes;
    const auto found = causes.find(KeyOf(relation, symptom.labels));
    if (found == causes.end()) continue;
    const bool circle = links != rules_.end() && links->second.circle == relation.circle;
    const auto explains = [&](const TrackedIssue* cause) {
      return !circle || Precedes(*cause, symptom);
    };
    const Ordered& ordered = found->second;
    const auto near = ordered.lower_bound(&first_near);
    const TrackedIssue* candidate = nullptr;
    if (near != ordered.end() && IsNear(**near, symptom) && explains(*near)) {
      candidate = *near;
    } else if (explains(*ordered.begin())) {
      candidate = *ordered.begin();
    } else {
      continue;
    }
    if (best == nullptr ||
        (IsNear(*candidate, symptom) != IsNear(*best, symptom) ? IsNear(*candidate, symptom)
                                                               : Precedes(*candidate, *best))) {
      best = candidate;
    }
  }
  return best;
}

const TrackedIssue* Explanations::FirstSymptom(const TrackedIssue& cause) const {
  const auto links = rules_.find(cause.rule);
  if (links == rules_.end()) return nullptr;
  const TrackedIssue* first = nullptr;
  for (const uint32_t r : links->second.relations) {
    const Relation& relation = relations_[r];
    const auto found = relation.open_symptoms.find(KeyOf(relation, cause.labels));
    if (found == relation.open_symptoms.end()) continue;
    const TrackedIssue* candidate = *found->second.begin();
    if (first == nullptr || Precedes(*candidate, *first)) first = candidate;
  }
  return first;
}

bool Explanations::Explains(std::string_view rule, std::string_view alert) const {
  const auto links = rules_.find(rule);
  if (links == rules_.end()) return false;
  return std::any_of(links->second.relations.begin(), links->second.relations.end(),
                     [&](uint32_t r) { return relations_[r].alert == alert; });
}

}  // namespace pitwall::engine
