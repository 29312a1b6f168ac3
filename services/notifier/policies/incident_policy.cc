#include "services/notifier/policies/incident_policy.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/model/issues/incident_roots.h"

namespace pitwall::notifier {
namespace {

std::vector<IncidentIssue> IssuesOf(const std::map<std::string, IssueEventPtr>& issues) {
  std::vector<IncidentIssue> out;
  out.reserve(issues.size());
  for (const auto& [id, event] : issues) out.push_back({id, event.get()});
  return out;
}

std::string_view RootOf(const std::map<std::string, IssueEventPtr>& issues,
                        std::string_view notified_root) {
  const std::vector<IncidentIssue> all = IssuesOf(issues);
  return std::min_element(all.begin(), all.end(),
                          [&](const IncidentIssue& a, const IncidentIssue& b) {
                            return IsLikelierRoot(a, b, notified_root);
                          })
      ->id;
}

// Returns "A: summary", or "A or B" if two alerts are equally likely root causes.
std::string RootText(const std::vector<IncidentIssue>& sorted) {
  const IssueEvent& root = *sorted[0].event;
  std::string text = IssueTitle(root);
  for (const IncidentIssue& other : std::span(sorted).first(LikelyRoots(sorted))) {
    if (other.event->alert == root.alert) continue;
    CatTo(text, " or ", IssueTitle(*other.event));
    break;
  }
  if (!root.summary.empty()) CatTo(text, ": ", root.summary);
  return text;
}

}  // namespace

IncidentPolicy::IncidentPolicy(const DeliveryOptions& options, const SilenceSet* silences,
                               size_t max_issues)
    : options_(options), silences_(silences), incidents_(max_issues) {}

void IncidentPolicy::Feed(FeedItem item, std::vector<FeedItem>* send) {
  const auto p = static_cast<size_t>(item.partition);
  if (p >= ticks_.size()) ticks_.resize(p + 1);
  Tick& tick = ticks_[p];
  const IssueEventPtr event = item.event;
  tick.partition = item.partition;
  if (tick.job != event->job || tick.time_ns != event->time.ns()) {
    Decide(&tick, send);
    FlushSilenced(&tick, event->time.ns(), item.offset, send);
    FlushDue(&tick, event->time.ns(), item.offset, send);
    tick.job = event->job;
    tick.time_ns = event->time.ns();
  }
  if (event->type == EventType::kRuleStatus || event->type == EventType::kJobChanged) {
    send->push_back(std::move(item));
    return;
  }
  tick.undecided_from = std::min(tick.undecided_from, item.offset);
  tick.newest = std::move(item);
  Apply(event, &tick);
}

void IncidentPolicy::Apply(const IssueEventPtr& event, Tick* tick) {
  const IncidentTable::Change change = incidents_.Add(event);
  // If the rule requested a capture, the issue's first update contains the capture, often without
  // other changes.
  if (change.incident->notified && change.previous != nullptr &&
      !change.previous->capture.empty() && event->type == EventType::kIssueUpdated)
    tick->waiting.insert(change.key);
  change.incident->selected |= options_.Selects(*event);
  tick->touched.insert(change.key);
}

void IncidentPolicy::Settle(int32_t partition, std::vector<FeedItem>* send) {
  const auto p = static_cast<size_t>(partition);
  if (p < ticks_.size()) Decide(&ticks_[p], send);
}

int64_t IncidentPolicy::UndecidedFrom(int32_t partition) const {
  const auto p = static_cast<size_t>(partition);
  return p < ticks_.size() ? ticks_[p].undecided_from : INT64_MAX;
}

void IncidentPolicy::Decide(Tick* tick, std::vector<FeedItem>* send) {
  if (tick->undecided_from == INT64_MAX) return;
  for (const std::string& id : std::exchange(tick->touched, {})) {
    if (incidents_.Contains(id)) DecideOne(id, tick, send);
  }
  std::erase_if(tick->waiting, [&](const std::string& id) { return !incidents_.Contains(id); });
  std::erase_if(tick->silenced,
                [&](const auto& entry) { return !incidents_.Contains(entry.first); });
  tick->undecided_from = INT64_MAX;
  incidents_.DropOldest();
}

void IncidentPolicy::FlushDue(Tick* tick, int64_t time_ns, int64_t offset,
                              std::vector<FeedItem>* send) {
  for (auto at = tick->waiting.begin(); at != tick->waiting.end();) {
    Incident* const incident = incidents_.Find(*at);
    const int64_t due_ns = incident == nullptr ? 0 : incident->notified_at_ns + kMinUpdateNs;
    if (incident != nullptr && due_ns > time_ns) {
      ++at;
      continue;
    }
    if (incident != nullptr)
      Notify(*at, EventType::kIssueUpdated, incident, *tick, due_ns, offset, send);
    at = tick->waiting.erase(at);
  }
}

int64_t IncidentPolicy::SilencedUntil(const Incident& incident, int64_t time_ns,
                                      bool ended_too) const {
  if (silences_ == nullptr) return time_ns;
  int64_t until = INT64_MAX;
  for (const auto& [id, event] : incident.issues) {
    if ((!ended_too && !IsOpen(*event)) || !options_.Selects(*event)) continue;
    until = std::min(until, silences_->SilencedUntil(*event, time_ns));
    if (until <= time_ns) break;
  }
  return until == INT64_MAX ? time_ns : until;
}

void IncidentPolicy::RefreshSilenced(Tick* tick, int64_t time_ns) const {
  if (silences_ == nullptr || tick->silences_version == silences_->version()) return;
  tick->silences_version = silences_->version();
  for (auto& [id, until] : tick->silenced) {
    const Incident* const incident = incidents_.Find(id);
    if (incident != nullptr) until = SilencedUntil(*incident, time_ns);
  }
}

void IncidentPolicy::FlushSilenced(Tick* tick, int64_t time_ns, int64_t offset,
                                   std::vector<FeedItem>* send) {
  RefreshSilenced(tick, tick->time_ns);
  for (auto at = tick->silenced.begin(); at != tick->silenced.end();) {
    if (at->second > time_ns) {
      ++at;
      continue;
    }
    Incident* const incident = incidents_.Find(at->first);
    if (incident != nullptr && incident->open > 0) {
      // Another silence may start immediately afterward.
      const int64_t until = SilencedUntil(*incident, at->second);
      if (until > time_ns) {
        (at++)->second = until;
        continue;
      }
      const EventType kind = incident->notified ? EventType::kIssueUpdated : EventType::kIssueFound;
      tick->waiting.erase(at->first);
      Notify(at->first, kind, incident, *tick, at->second, offset, send);
    }
    at = tick->silenced.erase(at);
  }
}

size_t IncidentPolicy::withheld() const {
  size_t count = 0;
  for (const Tick& tick : ticks_) count += tick.silenced.size();
  return count;
}

int64_t IncidentPolicy::DueNs(int32_t partition) const {
  int64_t due_ns = kNever;
  const auto p = static_cast<size_t>(partition);
  if (p >= ticks_.size()) return due_ns;
  RefreshSilenced(&ticks_[p], ticks_[p].time_ns);
  for (const auto& [id, until] : ticks_[p].silenced) due_ns = std::min(due_ns, until);
  for (const std::string& id : ticks_[p].waiting) {
    if (const Incident* const incident = incidents_.Find(id))
      due_ns = std::min(due_ns, incident->notified_at_ns + kMinUpdateNs);
  }
  return due_ns;
}

void IncidentPolicy::SendDue(int32_t partition, int64_t wall_ns, std::vector<FeedItem>* send) {
  const auto p = static_cast<size_t>(partition);
  // Other events from the same tick may not have arrived yet.
  if (p >= ticks_.size() || ticks_[p].undecided_from != INT64_MAX) return;
  FlushSilenced(&ticks_[p], wall_ns, ticks_[p].newest.offset, send);
  FlushDue(&ticks_[p], wall_ns, ticks_[p].newest.offset, send);
}

void IncidentPolicy::OnActed(const Acted& acted, std::vector<FeedItem>* send) {
  if (acted.events.empty()) return;
  send->push_back(
      {.partition = acted.partition, .offset = acted.offset, .event = acted.events.back()});
}

bool IncidentPolicy::DecideOne(const std::string& id, Tick* tick, std::vector<FeedItem>* send) {
  Incident& incident = *incidents_.Find(id);
  if (incident.open == 0) {
    // An incident that starts and ends while it is silenced triggers no notification.
    if (incident.selected &&
        (incident.notified || (!tick->silenced.contains(id) &&
                               SilencedUntil(incident, tick->time_ns, true) <= tick->time_ns))) {
      // An incident that starts and ends in the same tick gets both notices.
      if (!incident.notified)
        Notify(id, EventType::kIssueFound, &incident, *tick, tick->time_ns, tick->undecided_from,
               send);
      Notify(id, EventType::kIssueResolved, &incident, *tick, tick->time_ns, tick->undecided_from,
             send);
    }
    incidents_.Drop(id);
    return true;
  }
  if (!incident.selected) return false;
  if (const int64_t until = SilencedUntil(incident, tick->time_ns); until > tick->time_ns) {
    tick->silenced[id] = until;
    tick->waiting.erase(id);
    return false;
  }
  tick->silenced.erase(id);
  if (!incident.notified) {
    Notify(id, EventType::kIssueFound, &incident, *tick, tick->time_ns, tick->undecided_from, send);
    return false;
  }
  const std::string_view root = RootOf(incident.issues, incident.notified_root);
  int weight = incident.notified_weight;
  for (const auto& [issue, event] : incident.issues)
    weight = std::min(weight, SeverityRank(event->severity));
  const bool full = incident.issues.size() > kMaxIssues;
  const bool news = root != incident.notified_root || weight < incident.notified_weight ||
                    incident.issues.size() + incident.dropped >= 2 * incident.notified_size ||
                    tick->waiting.contains(id);
  if (!full && (!news || tick->time_ns - incident.notified_at_ns < kMinUpdateNs)) {
    if (news) tick->waiting.insert(id);
    return false;
  }
  tick->waiting.erase(id);
  Notify(id, EventType::kIssueUpdated, &incident, *tick, tick->time_ns, tick->undecided_from, send);
  if (full) incidents_.DropEndedIssues(&incident);
  return false;
}

void IncidentPolicy::Notify(const std::string& id, EventType kind, Incident* incident,
                            const Tick& tick, int64_t time_ns, int64_t offset,
                            std::vector<FeedItem>* send) {
  std::vector<IncidentIssue> order = IssuesOf(incident->issues);
  SortByRoot(&order, incident->notified_root);
  const auto& [root_id, root] = order.front();
  const bool other_root = incident->notified && incident->notified_root != root_id;
  int weight = 3;
  std::string_view severity;
  for (const auto& [issue, event] : order) {
    if (severity.empty() || SeverityRank(event->severity) < weight) severity = event->severity;
    weight = std::min(weight, SeverityRank(event->severity));
  }
  ++incident->sequence;
  incident->notified = true;
  incident->notified_at_ns = time_ns;
  incident->notified_root = std::string(root_id);
  incident->notified_weight = weight;
  incident->notified_size = incident->issues.size() + incident->dropped;
  const auto& types = options_.types;
  if (!types.empty() && std::find(types.begin(), types.end(), kind) == types.end()) return;

  auto notice = std::make_shared<Notice>();
  // Two receivers may get different notices about the same incident, so the ID includes the
  // receiver's name.
  notice->id = StableHashHex(
      Cat("incident\xff", options_.name, "\xff", id, "\xff", time_ns, "\xff", NoticeType(kind)));
  notice->kind = kind;
  notice->incident = id;
  notice->time_ns = time_ns;
  notice->began_ns = incident->began_ns;
  notice->severity = std::string(severity);
  notice->other_root = other_root;
  notice->issue_count = order.size() + incident->dropped;
  notice->open_count = incident->open;
  if (!incident->node.empty()) {
    std::set<std::string_view> jobs;
    for (const auto& [issue, event] : order) jobs.insert(event->job);
    notice->node = incident->node;
    notice->jobs.assign(jobs.begin(), jobs.end());
  }
  notice->summary = RootText(order);
  if (order.size() > 1)
    CatTo(notice->summary, "; ", notice->issue_count, " issues, ", incident->open, " open");
  for (size_t i = 0; i < order.size() && i < Notice::kMaxDescribed; ++i)
    notice->issues.push_back(
        {std::string(order[i].id), incident->issues.find(std::string(order[i].id))->second});
  for (const auto& [issue, event] : order) notice->issue_ids.emplace_back(issue);
  FeedItem item = tick.newest;
  item.event = incident->issues.find(std::string(root_id))->second;
  // Until the notice is delivered, a restart must resume at the first event that the notice covers.
  item.offset = offset;
  item.notice = std::move(notice);
  send->push_back(std::move(item));
}

}  // namespace pitwall::notifier
