#include "services/engine/incidents/issue_causes.h"

#include <algorithm>
#include <tuple>

namespace pitwall::engine {

bool Precedes(const TrackedIssue& a, const TrackedIssue& b) {
  return std::tie(a.onset, a.rule, a.labels) < std::tie(b.onset, b.rule, b.labels);
}

bool Separates(const TrackedIssue& cause, const TrackedIssue& symptom) {
  if (symptom.labels.Get("ranks") == "all") {
    return cause.everywhere || !(cause.labels.Has("rank") || cause.labels.Has("node"));
  }
  if (!cause.everywhere || !symptom.labels.Has("rank")) return true;
  const std::string_view category = symptom.labels.Get("category");
  // A cause on every rank explains the time that each rank loses, but not why one rank is slower.
  if (cause.labels.Has("rank")) return category != "straggler";
  return CauseDomainOf(category) != CauseDomain::kPerformance;
}

void IssueCauses::SetProgram(const plan::Program* program) {
  relations_.clear();
  rules_.clear();
  explained_.clear();
  if (program == nullptr) return;
  std::vector<std::string> names;
  StringMap<std::vector<uint32_t>> rules_of_alert;
  for (const plan::DomainPlan& domain : program->domains) {
    for (const plan::Group& group : domain.groups) {
      for (const plan::Rule& rule : group.rules) {
        if (rule.kind != plan::RuleKind::kAlert) continue;
        const auto number = static_cast<uint32_t>(names.size());
        names.push_back(rule.name);
        rules_of_alert[rule.alert].push_back(number);
        RuleLinks& links = rules_[rule.name];
        links.cycle = number;
        for (const plan::Explains& explains : rule.explains) {
          const auto relation = static_cast<uint32_t>(relations_.size());
          links.relations.push_back(relation);
          explained_[explains.alert].push_back(relation);
          Relation made{.alert = explains.alert, .equal = explains.equal};
          made.cause = rule.alert;
          made.lag = explains.lag.value_or(window_);
          made.within = explains.within;
          for (const std::string_view label : {"rank", "node"}) {
            if (!explains.job_wide &&
                std::ranges::find(explains.equal, label) == explains.equal.end())
              made.same.emplace_back(label);
          }
          relations_.push_back(std::move(made));
        }
      }
    }
  }
  FindCircles(names, rules_of_alert);
  for (const auto& [name, links] : rules_) {
    for (const uint32_t relation : links.relations) relations_[relation].cycle = links.cycle;
  }
}

// Two rules are in the same cycle if each reaches the other. The search covers only rules that
// explain an alert. A pack has only a few dozen.
void IssueCauses::FindCircles(const std::vector<std::string>& names,
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
      rules_[names[a]].cycle = rules_[names[b]].cycle;
      break;
    }
  }
}

std::string IssueCauses::KeyOf(const Relation& relation, const Labels& labels) {
  std::string key;
  for (const std::string& name : relation.equal) {
    const std::string_view value = labels.Get(name);
    CatTo(key, value.size(), ":", value);
  }
  return key;
}

std::vector<std::string> IssueCauses::WithParts(std::vector<std::string> keys,
                                                std::string_view part, std::string_view other) {
  std::vector<std::string> out;
  for (const std::string& key : keys) {
    out.push_back(Cat(key, part));
    if (other != part) out.push_back(Cat(key, other));
  }
  return out;
}

namespace {
constexpr std::string_view kAny = "*";
constexpr std::string_view kAbsent = "-";

// Returns a key part that never equals kAny or kAbsent.
std::string ValuePart(std::string_view value) { return Cat(value.size(), ":", value); }

// Returns the issue's rank or node, or "" if it is unknown.
std::string_view PlaceOf(const TrackedIssue& issue, std::string_view label) {
  const std::string_view named = issue.labels.Get(label);
  return named.empty() && label == "node" ? std::string_view(issue.node) : named;
}
}  // namespace

std::vector<std::string> IssueCauses::KeysToKeep(const Relation& relation,
                                                 const TrackedIssue& issue) {
  std::vector<std::string> keys = {KeyOf(relation, issue.labels)};
  for (const std::string& name : relation.same) {
    const std::string_view value = PlaceOf(issue, name);
    keys = WithParts(std::move(keys), value.empty() ? kAbsent : ValuePart(value), kAny);
  }
  return keys;
}

std::vector<std::string> IssueCauses::KeysToAsk(const Relation& relation,
                                                const TrackedIssue& issue) {
  std::vector<std::string> keys = {KeyOf(relation, issue.labels)};
  for (const std::string& name : relation.same) {
    const std::string_view value = PlaceOf(issue, name);
    keys = value.empty() ? WithParts(std::move(keys), kAny, kAny)
                         : WithParts(std::move(keys), ValuePart(value), kAbsent);
  }
  return keys;
}

void IssueCauses::Add(const TrackedIssue& issue) {
  const auto add = [&](ByKey* to, const Relation& relation) {
    for (std::string& key : KeysToKeep(relation, issue)) (*to)[std::move(key)].insert(&issue);
  };
  if (const auto links = rules_.find(issue.rule); links != rules_.end()) {
    for (const uint32_t r : links->second.relations)
      add(issue.open ? &relations_[r].open_causes : &relations_[r].ended_causes, relations_[r]);
  }
  if (!issue.open) return;
  if (const auto relations = explained_.find(issue.alert); relations != explained_.end()) {
    for (const uint32_t r : relations->second) add(&relations_[r].open_symptoms, relations_[r]);
  }
}

void IssueCauses::Remove(const TrackedIssue& issue) {
  const auto remove = [&](ByKey* from, const Relation& relation) {
    for (const std::string& key : KeysToKeep(relation, issue)) {
      const auto at = from->find(key);
      if (at == from->end()) continue;
      at->second.erase(&issue);
      if (at->second.empty()) from->erase(at);
    }
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

bool IssueCauses::IsNear(const TrackedIssue& cause, const TrackedIssue& symptom) const {
  return cause.onset >= symptom.onset - window_;
}

bool IssueCauses::IsInTime(const TrackedIssue& cause, const TrackedIssue& symptom,
                           const Relation& relation) {
  const auto fits = [&](EventTime time) {
    return time <= symptom.onset + relation.lag &&
           (!relation.within || time >= symptom.onset - *relation.within);
  };
  return fits(cause.onset) || (cause.rose != EventTime() && fits(cause.rose));
}

const TrackedIssue* IssueCauses::StrongestOf(const Ordered& causes, const TrackedIssue& symptom,
                                             const Relation& relation, bool cycle) const {
  // Causes are sorted by onset. If one began too late, all later causes did too.
  const auto too_late = [&](const TrackedIssue* cause) {
    return cause->onset > symptom.onset + relation.lag;
  };
  const auto first_of = [&](Ordered::const_iterator at, Ordered::const_iterator end) {
    for (; at != end && !too_late(*at); ++at) {
      if (cycle && !Precedes(**at, symptom)) break;
      if (IsInTime(**at, symptom, relation) && Separates(**at, symptom)) return *at;
    }
    return static_cast<const TrackedIssue*>(nullptr);
  };
  TrackedIssue first_near;  // search key: precedes all near causes
  first_near.onset = symptom.onset - window_;
  const auto near = causes.lower_bound(&first_near);
  if (const TrackedIssue* found = first_of(near, causes.end())) return found;
  return first_of(causes.begin(), near);
}

const TrackedIssue* IssueCauses::StrongestCause(const TrackedIssue& symptom, bool open) const {
  const auto relations = explained_.find(symptom.alert);
  if (relations == explained_.end()) return nullptr;
  const auto links = rules_.find(symptom.rule);
  const auto stronger = [&](const TrackedIssue& a, const TrackedIssue& b) {
    if (IsNear(a, symptom) != IsNear(b, symptom)) return IsNear(a, symptom);
    const auto rank = [](const TrackedIssue& issue) {
      return std::tie(issue.order.cause_class, issue.order.severity);
    };
    return rank(a) != rank(b) ? rank(a) < rank(b) : Precedes(a, b);
  };
  const TrackedIssue* best = nullptr;
  for (const uint32_t r : relations->second) {
    const Relation& relation = relations_[r];
    const ByKey& causes = open ? relation.open_causes : relation.ended_causes;
    const bool cycle = links != rules_.end() && links->second.cycle == relation.cycle;
    for (const std::string& key : KeysToAsk(relation, symptom)) {
      const auto found = causes.find(key);
      if (found == causes.end()) continue;
      const TrackedIssue* candidate = StrongestOf(found->second, symptom, relation, cycle);
      if (candidate != nullptr && (best == nullptr || stronger(*candidate, *best)))
        best = candidate;
    }
  }
  return best;
}

const TrackedIssue* IssueCauses::FirstSymptom(
    const TrackedIssue& cause, const std::function<bool(const TrackedIssue&)>& own) const {
  const auto links = rules_.find(cause.rule);
  if (links == rules_.end()) return nullptr;
  const Relation* relation = nullptr;
  const auto free = [&](const TrackedIssue* symptom) {
    return IsInTime(cause, *symptom, *relation) &&
           (symptom->root_cause.empty() || StrongestCause(*symptom, /*open=*/true) == nullptr) &&
           Separates(cause, *symptom) && own(*symptom);
  };
  const TrackedIssue* first = nullptr;
  for (const uint32_t r : links->second.relations) {
    relation = &relations_[r];
    TrackedIssue earliest;  // search key: precedes all symptoms within the lag
    earliest.onset = cause.onset - relation->lag;
    for (const std::string& key : KeysToAsk(*relation, cause)) {
      const auto found = relation->open_symptoms.find(key);
      if (found == relation->open_symptoms.end()) continue;
      // An ended cause does not prevent a symptom from joining an open cause.
      const auto at = std::find_if(found->second.lower_bound(&earliest), found->second.end(), free);
      if (at != found->second.end() && (first == nullptr || Precedes(**at, *first))) first = *at;
    }
  }
  return first;
}

bool IssueCauses::MayExplain(const TrackedIssue& cause, const TrackedIssue& symptom) const {
  const auto links = rules_.find(cause.rule);
  if (links == rules_.end() || !Separates(cause, symptom)) return false;
  return std::any_of(
      links->second.relations.begin(), links->second.relations.end(), [&](uint32_t r) {
        const Relation& relation = relations_[r];
        return relation.alert == symptom.alert && IsInTime(cause, symptom, relation) &&
               KeyOf(relation, cause.labels) == KeyOf(relation, symptom.labels) &&
               std::all_of(relation.same.begin(), relation.same.end(),
                           [&](const std::string& name) {
                             const std::string_view a = PlaceOf(cause, name);
                             const std::string_view b = PlaceOf(symptom, name);
                             return a.empty() || b.empty() || a == b;
                           });
      });
}

bool IssueCauses::ShareACause(std::string_view alert, std::string_view other) const {
  const auto of_one = explained_.find(alert);
  const auto of_other = explained_.find(other);
  if (of_one == explained_.end() || of_other == explained_.end()) return false;
  for (const uint32_t a : of_one->second) {
    for (const uint32_t b : of_other->second) {
      if (relations_[a].cause == relations_[b].cause) return true;
    }
  }
  return false;
}

bool IssueCauses::IsCause(std::string_view rule) const {
  const auto links = rules_.find(rule);
  return links != rules_.end() && !links->second.relations.empty();
}

bool IssueCauses::Explains(std::string_view rule, std::string_view alert) const {
  const auto links = rules_.find(rule);
  if (links == rules_.end()) return false;
  return std::any_of(links->second.relations.begin(), links->second.relations.end(),
                     [&](uint32_t r) { return relations_[r].alert == alert; });
}

}  // namespace pitwall::engine
