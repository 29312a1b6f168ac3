#include "services/history/promapi/rule_answers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/time/time.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/promapi/response.h"
#include "services/model/issues/status_text.h"

namespace pitwall::promapi {
namespace {

// Returns the "pack/group" part of "pack/group/alert#n".
std::string_view GroupOf(std::string_view rule) { return rule.substr(0, rule.rfind('/')); }

std::string TokenOf(const RuleGroupInfo& group) {
  return StableHashHex(Cat(group.file, ";", group.name));
}

bool IsWanted(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool ParseBool(std::string_view text, bool* out) {
  for (const std::string_view yes : {"1", "t", "true"}) {
    if (text == yes) return *out = true;
  }
  *out = false;
  return text.empty() || text == "0" || text == "f" || text == "false";
}

std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

void AppendAlert(const IssueEvent& issue, std::string* out) {
  *out += "{\"labels\":";
  AppendLabels(issue.labels.With(kJobLabel, issue.job), out);
  *out += ",\"annotations\":";
  AppendLabels(Labels::FromPairs({{"summary", issue.summary},
                                  {"description", issue.description},
                                  {"suggestion", issue.suggestion}}),
               out);
  CatTo(*out, ",\"state\":\"firing\",\"activeAt\":\"", FormatInstant(issue.active_since.ns()),
        "\",\"value\":\"", FormatScientific(issue.value), "\"}");
}

// Returns the "alert" part of "pack/group/alert#n".
std::string_view AlertOf(std::string_view rule) {
  const std::string_view last = rule.substr(rule.rfind('/') + 1);
  return last.substr(0, last.find('#'));
}

// Returns true if elements are pending. The reason in an InProgress status contains their number
// and the time at which the first one became pending.
bool IsPending(const IssueEvent& status) {
  return status.status == RuleStatus::kInProgress &&
         (status.status_reason.find(kElementPending) != std::string::npos ||
          status.status_reason.find(kElementsPending) != std::string::npos);
}

// Returns the time at which the first element became pending. On the step clock, the status
// contains a step instead, so the function returns the time of the status.
int64_t PendingSince(const IssueEvent& status) {
  const size_t at = status.status_reason.find(" since ") + 7;
  const std::string text = status.status_reason.substr(at, status.status_reason.find(',', at) - at);
  absl::Time time;
  std::string ignored;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &ignored)) return status.time.ns();
  return absl::ToUnixNanos(time);
}

// Appends one alert that represents all pending elements of the rule on the job, because pending
// elements have no events.
void AppendPending(const IssueEvent& status, std::string* out) {
  const std::string_view alert = status.alert.empty() ? AlertOf(status.rule) : status.alert;
  std::vector<Label> labels = {{"alertname", std::string(alert)},
                               {std::string(kJobLabel), status.job}};
  if (!status.severity.empty()) labels.push_back({"severity", status.severity});
  *out += "{\"labels\":";
  AppendLabels(Labels::FromPairs(std::move(labels)), out);
  *out += ",\"annotations\":";
  AppendLabels(Labels::FromPairs({{"summary", status.status_reason}}), out);
  CatTo(*out, ",\"state\":\"pending\",\"activeAt\":\"", FormatInstant(PendingSince(status)),
        "\",\"value\":\"NaN\"}");
}

}  // namespace

struct RuleAnswers::Known {
  struct Rule {
    std::vector<IssueEventPtr> open;     // newest events of the open issues
    std::vector<IssueEventPtr> pending;  // statuses with pending elements
    std::string error;    // a job on which the rule fails, or "" if it fails on no job
    bool judged = false;  // true if the rule was evaluated on at least one job
    int64_t newest_ns = 0;
  };
  std::map<std::string, Rule, std::less<>> rules;  // by rule ID
  history::MissingPeers missing;
};

StatusOr<RuleAnswers::Known> RuleAnswers::Read() const {
  Known known;
  size_t jobs = 0;
  history::JobList list = history_->ListJobs();
  known.missing = std::move(list.missing);
  for (const history::JobLifePtr& job : list.jobs) {
    // Ended jobs without open issues are skipped, because their rules are no longer evaluated.
    if (job->ended_ns != 0 && job->open.count == 0) continue;
    if (++jobs > options_->max_jobs) {
      return ResourceExhausted(
          Cat("too many running jobs to list alerts (limit ", options_->max_jobs, ")"));
    }
    const auto events = history_->Events(job->id);
    if (events.status().code() == absl::StatusCode::kNotFound) continue;
    RETURN_IF_ERROR(events.status());
    std::map<std::string, IssueEventPtr> open;                   // by issue ID
    std::map<std::string, IssueEventPtr, std::less<>> statuses;  // by rule ID
    for (const IssueEventPtr& event : *events) {
      switch (event->type) {
        case EventType::kIssueFound:
        case EventType::kIssueUpdated:
          open[IssueId(*event)] = event;
          break;
        case EventType::kIssueResolved:
          open.erase(IssueId(*event));
          break;
        case EventType::kRuleStatus:
          statuses[event->rule] = event;
          break;
        case EventType::kJobChanged:
          break;
      }
    }
    for (const auto& [id, event] : open) {
      Known::Rule& rule = known.rules[event->rule];
      rule.open.push_back(event);
      rule.newest_ns = std::max(rule.newest_ns, event->time.ns());
    }
    for (const auto& [name, event] : statuses) {
      Known::Rule& rule = known.rules[name];
      rule.newest_ns = std::max(rule.newest_ns, event->time.ns());
      if (event->status == RuleStatus::kError) {
        if (rule.error.empty()) rule.error = Cat(event->job, ": ", event->status_reason);
      } else if (IsPending(*event)) {
        rule.pending.push_back(event);
      } else if (event->status == RuleStatus::kNoIssuesFound ||
                 event->status == RuleStatus::kIssuesFound) {
        rule.judged = true;
      }
    }
  }
  for (auto& [name, rule] : known.rules) {
    std::sort(rule.open.begin(), rule.open.end(),
              [](const IssueEventPtr& a, const IssueEventPtr& b) {
                return std::tie(a->labels, a->job) < std::tie(b->labels, b->job);
              });
  }
  return known;
}

http::HttpResponse RuleAnswers::Alerts() const {
  const StatusOr<Known> known = Read();
  if (!known.ok()) return FailedRun(known.status());
  std::string data = "{\"alerts\":[";
  bool first = true;
  for (const auto& [name, rule] : known->rules) {
    for (const IssueEventPtr& issue : rule.open) {
      if (!first) data += ',';
      first = false;
      AppendAlert(*issue, &data);
    }
    for (const IssueEventPtr& status : rule.pending) {
      if (!first) data += ',';
      first = false;
      AppendPending(*status, &data);
    }
  }
  data += "]}";
  return DataAnswer(data, {.missing = known->missing.Texts()});
}

http::HttpResponse RuleAnswers::Rules(const Form& form) const {
  const std::string type = LowerCase(form.Get("type"));
  if (!type.empty() && type != "alert" && type != "record")
    return InvalidParameter("type", Cat("not supported value ", Quote(type)));
  bool without_alerts = false;
  const std::string exclude = LowerCase(form.Get("exclude_alerts"));
  if (!ParseBool(exclude, &without_alerts)) {
    return InvalidParameter("exclude_alerts",
                            Cat("error converting exclude_alerts: strconv.ParseBool: parsing ",
                                Quote(exclude), ": invalid syntax"));
  }
  const std::string_view limit_text = form.Get("group_limit"), token = form.Get("group_next_token");
  if (!token.empty() && limit_text.empty()) {
    return InvalidParameter("group_next_token",
                            "group_limit needs to be present in order to paginate over the groups");
  }
  size_t limit = 0;
  if (!limit_text.empty()) {
    const std::optional<int64_t> number = ParseInt(limit_text);
    if (!number.has_value())
      return InvalidParameter("group_limit",
                              Cat("group_limit needs to be a valid number: ", limit_text));
    if (*number <= 0)
      return InvalidParameter("group_limit", "group_limit needs to be greater than 0");
    limit = static_cast<size_t>(*number);
  }
  const StatusOr<Known> known = Read();
  if (!known.ok()) return FailedRun(known.status());

  std::vector<RuleGroupInfo> groups;
  if (rules_) groups = rules_();
  if (groups.empty()) {
    std::map<std::string, RuleGroupInfo> named;
    for (const auto& [id, rule] : known->rules) {
      RuleGroupInfo& group = named[std::string(GroupOf(id))];
      group.name = GroupOf(id);
      RuleInfo info;
      info.id = id;
      info.name = id.substr(GroupOf(id).size() + (GroupOf(id).size() < id.size() ? 1 : 0));
      group.rules.push_back(std::move(info));
    }
    for (auto& [name, group] : named) groups.push_back(std::move(group));
  }

  const std::vector<std::string> names = form.All("rule_name[]"),
                                 in_groups = form.All("rule_group[]"), files = form.All("file[]");
  std::string data = "{\"groups\":[", next;
  size_t shown = 0;
  bool begun = token.empty();
  for (const RuleGroupInfo& group : groups) {
    if (!begun && TokenOf(group) != token) continue;
    begun = true;
    if (!IsWanted(in_groups, group.name) || !IsWanted(files, group.file)) continue;
    std::string rules;
    int64_t newest = 0;
    for (const RuleInfo& info : group.rules) {
      if (!IsWanted(names, info.name)) continue;
      if (type == (info.alerting ? "record" : "alert")) continue;
      const auto at = known->rules.find(info.id);
      const Known::Rule nothing;
      const Known::Rule& rule = at == known->rules.end() ? nothing : at->second;
      newest = std::max(newest, rule.newest_ns);
      if (!rules.empty()) rules += ',';
      rules += '{';
      if (info.alerting)
        CatTo(rules, "\"state\":\"",
              !rule.open.empty()      ? "firing"
              : !rule.pending.empty() ? "pending"
                                      : "inactive",
              "\",");
      rules += "\"name\":";
      AppendText(info.name, &rules);
      rules += ",\"query\":";
      AppendText(info.query, &rules);
      if (info.alerting) {
        CatTo(rules, ",\"duration\":", FormatDouble(info.hold_seconds),
              ",\"keepFiringFor\":", FormatDouble(info.keep_firing_seconds));
      }
      rules += ",\"labels\":";
      AppendLabels(info.labels, &rules);
      if (info.alerting) {
        rules += ",\"annotations\":";
        AppendLabels(info.annotations, &rules);
        rules += ",\"alerts\":[";
        for (size_t i = 0; i < rule.open.size() && !without_alerts; ++i) {
          if (i > 0) rules += ',';
          AppendAlert(*rule.open[i], &rules);
        }
        for (size_t i = 0; i < rule.pending.size() && !without_alerts; ++i) {
          if (i > 0 || !rule.open.empty()) rules += ',';
          AppendPending(*rule.pending[i], &rules);
        }
        rules += ']';
      }
      CatTo(rules, ",\"health\":\"",
            !rule.error.empty() ? "err"
            : rule.judged       ? "ok"
                                : "unknown",
            "\"");
      if (!rule.error.empty()) {
        rules += ",\"lastError\":";
        AppendText(rule.error, &rules);
      }
      CatTo(rules, ",\"evaluationTime\":0,\"lastEvaluation\":\"", FormatInstant(rule.newest_ns),
            "\",\"type\":\"", info.alerting ? "alerting" : "recording", "\"}");
    }
    if (rules.empty()) continue;
    if (limit > 0 && shown == limit) {
      next = TokenOf(group);
      break;
    }
    if (shown++ > 0) data += ',';
    data += "{\"name\":";
    AppendText(group.name, &data);
    data += ",\"file\":";
    AppendText(group.file, &data);
    CatTo(data, ",\"rules\":[", rules, "],\"interval\":", FormatDouble(group.interval_seconds),
          ",\"limit\":", group.limit, ",\"evaluationTime\":0,\"lastEvaluation\":\"",
          FormatInstant(newest), "\"}");
  }
  if (!begun) {
    return InvalidParameter("group_next_token", Cat("invalid group_next_token '", token,
                                                    "'. were rule groups changed?"));
  }
  data += ']';
  if (!next.empty()) CatTo(data, ",\"groupNextToken\":\"", next, "\"");
  data += '}';
  return DataAnswer(data, {.missing = known->missing.Texts()});
}

}  // namespace pitwall::promapi
