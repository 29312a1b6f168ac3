#include "services/engine/recording/recorded_series.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::engine {

namespace {

// A rule and its output.
struct Writer {
  const plan::Rule* rule;
  RuleOutput* output;
};

// Returns a key shared by rules that write the same name and labels.
std::string KeyOfSeries(const plan::Rule& rule) {
  std::string key = Cat(rule.kind == plan::RuleKind::kAlert ? "alert " : "record ", rule.alert);
  for (const plan::Template& label : rule.labels)
    CatTo(key, "\n", Quote(label.name), "=", Quote(label.text));
  return key;
}

// Returns a key that stays the same for an unchanged rule.
std::string KeyOfRule(const plan::Rule& rule) {
  return Cat(KeyOfSeries(rule), "\n", rule.name, "\n", rule.fingerprint);
}

// Transfers the series of each giver to the first heir with the same key. Removes both from their
// lists.
void InheritByKey(std::string (*key_of)(const plan::Rule&), std::vector<Writer>* givers,
                  std::vector<Writer>* heirs) {
  std::multimap<std::string, Writer> by_key;  // Equal keys stay in rule order.
  for (const Writer& heir : *heirs) by_key.emplace(key_of(*heir.rule), heir);
  std::set<const RuleOutput*> done;
  std::erase_if(*givers, [&](const Writer& giver) {
    const std::string key = key_of(*giver.rule);
    const auto heir = by_key.lower_bound(key);
    if (heir == by_key.end() || heir->first != key) return false;
    heir->second.output->Inherit(giver.output);
    done.insert(heir->second.output);
    by_key.erase(heir);
    return true;
  });
  std::erase_if(*heirs, [&](const Writer& heir) { return done.contains(heir.output); });
}

}  // namespace

RecordedSeries::RecordedSeries(const plan::DomainPlan& domain) {
  for (const plan::Group& group : domain.groups)
    groups_.emplace_back().outputs.resize(group.rules.size());
}

bool RecordedSeries::EndOrphans(size_t group, Position position, SeriesWriter* writer) {
  std::vector<window::SeriesId>& orphans = groups_[group].orphans;
  if (orphans.empty()) return false;
  const auto is_written = [&](window::SeriesId id) {
    return std::any_of(groups_.begin(), groups_.end(), [id](const Group& other) {
      return std::any_of(other.outputs.begin(), other.outputs.end(),
                         [id](const RuleOutput& output) { return output.Wrote(id); });
    });
  };
  for (const window::SeriesId id : orphans) {
    if (!is_written(id)) writer->Write(id, position, StaleMarker());
  }
  orphans.clear();
  return true;
}

std::vector<window::SeriesId> RecordedSeries::Inherit(RecordedSeries* old,
                                                      const plan::DomainPlan& old_domain,
                                                      const plan::DomainPlan& domain) {
  std::vector<window::SeriesId> ended;
  for (size_t g = 0; g < old->groups_.size(); ++g) {
    Group& from = old->groups_[g];
    std::vector<Writer> givers, heirs;
    for (size_t r = 0; r < from.outputs.size(); ++r)
      givers.push_back({&old_domain.groups[g].rules[r], &from.outputs[r]});
    std::vector<window::SeriesId>* orphans = &ended;
    for (size_t k = 0; k < groups_.size(); ++k) {
      if (domain.groups[k].name != old_domain.groups[g].name) continue;
      orphans = &groups_[k].orphans;
      heirs.clear();
      for (size_t r = 0; r < groups_[k].outputs.size(); ++r)
        heirs.push_back({&domain.groups[k].rules[r], &groups_[k].outputs[r]});
    }
    orphans->insert(orphans->end(), from.orphans.begin(), from.orphans.end());
    InheritByKey(KeyOfRule, &givers, &heirs);
    InheritByKey(KeyOfSeries, &givers, &heirs);
    for (const Writer& giver : givers) {
      const std::vector<window::SeriesId>& written = giver.output->written();
      orphans->insert(orphans->end(), written.begin(), written.end());
    }
  }
  return ended;
}

void RecordedSeries::Forget(const std::vector<window::SeriesId>& ids) {
  for (Group& group : groups_) {
    std::erase_if(group.orphans, [&](window::SeriesId id) {
      return std::binary_search(ids.begin(), ids.end(), id);
    });
    for (RuleOutput& output : group.outputs) output.Forget(ids);
  }
}

void RecordedSeries::Restart() {
  for (Group& group : groups_) {
    group.orphans.clear();
    for (RuleOutput& output : group.outputs) output.Restart();
  }
}

void RecordedSeries::SaveOrphans(size_t group, BinaryWriter& out) const {
  SaveIds(groups_[group].orphans, out);
}

void RecordedSeries::RestoreOrphans(size_t group, BinaryReader& in) {
  groups_[group].orphans = ReadIds(in);
}

}  // namespace pitwall::engine
