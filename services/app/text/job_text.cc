#include "services/app/text/job_text.h"

#include <set>
#include <vector>

#include "rules/check/metric_catalog.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/json/json_writer.h"

namespace pitwall {
namespace {

using codec::JsonWriter;

std::string_view ProducerText(check::Producer producer) {
  switch (producer) {
    case check::Producer::kCollector:
      return "sent by the collector of each node";
    case check::Producer::kClient:
      return "sent by the training process (Python client)";
    case check::Producer::kEngine:
      return "written by the processor";
    case check::Producer::kForeign:
      return "sent by another exporter";
  }
  return "";
}

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

std::string StateText(const JobRecord& job) {
  if (!job.ended()) return "running";
  return Cat("ended", job.end_text.empty() ? "" : ": ", job.end_text);
}

std::string AttemptText(const AttemptRecord& attempt) {
  std::string out = Cat("attempt ", attempt.attempt, "  began ", TimeText(attempt.began_ns));
  if (attempt.ended_ns == 0) return out + ", running";
  CatTo(out, ", ended ", TimeText(attempt.ended_ns));
  if (!attempt.end_text.empty()) CatTo(out, ": ", attempt.end_text);
  if (attempt.began_ns != 0)
    CatTo(out, ", lasted ", LastedText(attempt.ended_ns - attempt.began_ns));
  return out;
}

void WriteTime(std::string_view key, int64_t ns, JsonWriter* out) {
  if (ns != 0) out->Text(key, cloudevents::FormatTime(ns));
}

void WriteSet(std::string_view rule, const std::vector<codec::SetParameter>& set, JsonWriter* out) {
  out->Key("set_parameters");
  out->BeginArray();
  for (const codec::SetParameter& one : set) {
    if (one.parameter.rule != rule) continue;
    out->BeginObject();
    out->Text("name", one.parameter.name);
    out->Key("value");
    out->Double(one.parameter.value);
    out->Text("by", one.principal);
    WriteTime("at", one.set_ns, out);
    out->Text("request", one.request);
    out->EndObject();
  }
  out->EndArray();
}

void WriteStatus(const JobRecord& job, const std::string& rule, JsonWriter* out,
                 const std::vector<codec::SetParameter>& set = {}) {
  const IssueEvent& status = *job.statuses.at(rule).back();
  const RuleVerdict verdict = job.VerdictOf(rule);
  out->BeginObject();
  out->Text("rule", rule);
  out->Text("status", RuleStatusName(status.status));
  out->Text("verdict", RuleStatusName(verdict.status));
  out->Text("reason", status.status_reason);
  out->Text("verdict_reason", verdict.reason);
  out->Text("supply", verdict.status == RuleStatus::kNoData ? SupplyText(verdict.reason) : "");
  out->Key("ever_found");
  out->Bool(status.ever_found);
  out->Key("issues_found");
  out->Uint(job.FoundBy(rule));
  WriteTime("since", verdict.since.ns(), out);
  if (!set.empty()) WriteSet(rule, set, out);
  out->EndObject();
}

void WriteIssues(std::string_view key, const std::map<std::string, IssueEventPtr>& issues,
                 JsonWriter* out) {
  out->Key(key);
  out->BeginArray();
  for (const auto& [id, event] : issues) {
    out->BeginObject();
    out->Text("id", id);
    out->Text("name", IssueName(*event));
    out->Text("severity", event->severity);
    out->Text("summary", event->summary);
    WriteTime("active_since", event->active_since.ns(), out);
    WriteTime("ended_at", event->ended_at.ns(), out);
    out->Text("end_reason", EndReasonName(event->end_reason));
    out->Text("end_detail", EndDetailName(event->end_detail));
    out->Text("incident", event->incident);
    out->EndObject();
  }
  out->EndArray();
}

}  // namespace

std::string SupplyText(std::string_view reason) {
  const check::MetricCatalog& catalog = check::MetricCatalog::Builtin();
  std::set<std::string_view> seen;
  std::string out;
  for (size_t i = 0; i < reason.size();) {
    size_t end = i;
    while (end < reason.size() && IsNameByte(reason[end])) ++end;
    const std::string_view word = reason.substr(i, end - i);
    i = std::max(end, i + 1);
    if (word.empty()) continue;
    const check::MetricInfo* metric = catalog.Find(word);
    const bool recorded = metric == nullptr && word.find(':') != std::string_view::npos &&
                          word.front() != ':' && word.back() != ':';
    if ((metric == nullptr && !recorded) || !seen.insert(word).second) continue;
    CatTo(out, out.empty() ? "" : "; ", word, ": ",
          recorded ? "written by a recording rule" : ProducerText(metric->producer));
  }
  return out;
}

std::string RuleStatusLine(const JobRecord& job, const std::string& rule) {
  const IssueEvent& status = *job.statuses.at(rule).back();
  const RuleVerdict verdict = job.VerdictOf(rule);
  std::string name(RuleStatusName(verdict.status));
  name.resize(std::max<size_t>(name.size(), 13), ' ');
  std::string out = Cat(name, "  ", rule, "  since ", TimeText(verdict.since.ns()));
  if (status.status == RuleStatus::kStopped) CatTo(out, "  (stopped: ", status.status_reason, ")");
  if (!verdict.reason.empty()) CatTo(out, "  ", verdict.reason);
  if (verdict.status == RuleStatus::kNoData) {
    const std::string supply = SupplyText(verdict.reason);
    if (!supply.empty()) CatTo(out, " (", supply, ")");
  }
  if (status.ever_found && verdict.status != RuleStatus::kIssuesFound)
    out += "  [had issues earlier]";
  const uint64_t found = job.FoundBy(rule);
  if (found > 0) CatTo(out, "  [", found, found == 1 ? " issue" : " issues", " in total]");
  return out;
}

std::string JobLine(const JobRecord& job) {
  std::string out = Cat(TimeText(job.first_ns), "  ", job.id);
  if (!job.name.empty() && job.name != job.id) CatTo(out, "  ", job.name);
  CatTo(out, "  ", StateText(job), "  ", job.attempts.size(),
        job.attempts.size() == 1 ? " attempt" : " attempts", "  ", job.open_issues.size(),
        " open, ", job.ended_count, " ended issues");
  return out;
}

std::string JobPageText(const JobRecord& job, const IssueNames& names) {
  std::string out = Cat("job       ", job.id, "\n");
  if (!job.name.empty() && job.name != job.id) CatTo(out, "name      ", job.name, "\n");
  if (!job.owner.empty()) CatTo(out, "owner     ", job.owner, "\n");
  CatTo(out, "state     ", StateText(job), " (seen from ", TimeText(job.first_ns), " to ",
        TimeText(job.last_ns), ")\n");
  for (const auto& [number, attempt] : job.attempts) {
    out += AttemptText(attempt) + "\n";
    for (const auto& [at, lost] : attempt.lost)
      CatTo(out, "  ", TimeText(at), "  ", LostRankText(lost), "\n");
  }
  CatTo(out, "\nrules", job.statuses.empty() ? ": no status yet" : "", "\n");
  for (const auto& [rule, events] : job.statuses) CatTo(out, "  ", RuleStatusLine(job, rule), "\n");
  CatTo(out, "\nopen issues: ", job.open_issues.size(), "\n");
  for (const auto& [id, event] : job.open_issues)
    CatTo(out, "  ", id.substr(0, 12), "  ", IssueLine(*event, names), "\n");
  CatTo(out, "\nended issues: ", job.ended_count, "\n");
  for (const auto& [id, event] : job.ended_issues)
    CatTo(out, "  ", id.substr(0, 12), "  ", IssueLine(*event, names), "\n");
  if (job.ended_issues.size() < job.ended_count)
    CatTo(out, "  and ", job.ended_count - job.ended_issues.size(), " older ones\n");
  return out;
}

std::string JobJson(const JobRecord& job) {
  JsonWriter out;
  out.BeginObject();
  out.Text("id", job.id);
  out.Text("name", job.name);
  out.Text("owner", job.owner);
  out.Text("state", job.ended() ? "ended" : "running");
  out.Text("end_detail", EndDetailName(job.end_detail));
  out.Text("end_text", job.end_text);
  WriteTime("first_seen", job.first_ns, &out);
  WriteTime("last_seen", job.last_ns, &out);
  WriteTime("ended_at", job.ended_ns, &out);
  out.Key("attempts");
  out.BeginArray();
  for (const auto& [number, attempt] : job.attempts) {
    out.BeginObject();
    out.Key("attempt");
    out.Uint(number);
    WriteTime("began_at", attempt.began_ns, &out);
    WriteTime("ended_at", attempt.ended_ns, &out);
    out.Text("end_detail", EndDetailName(attempt.end_detail));
    out.Text("end_text", attempt.end_text);
    out.Key("lost_ranks");
    out.BeginArray();
    for (const auto& [at, lost] : attempt.lost) out.String(LostRankText(lost));
    out.EndArray();
    out.EndObject();
  }
  out.EndArray();
  out.Key("rules");
  out.BeginArray();
  for (const auto& [rule, events] : job.statuses) WriteStatus(job, rule, &out);
  out.EndArray();
  WriteIssues("open_issues", job.open_issues, &out);
  WriteIssues("ended_issues", job.ended_issues, &out);
  out.EndObject();
  return out.Take();
}

std::string RuleStatusJson(const JobRecord& job, const std::string& rule,
                           const std::vector<codec::SetParameter>& set) {
  JsonWriter out;
  WriteStatus(job, rule, &out, set);
  return out.Take();
}

std::string SetParametersText(std::string_view rule, const std::vector<codec::SetParameter>& set) {
  std::string out;
  for (const codec::SetParameter& one : set) {
    if (one.parameter.rule != rule) continue;
    CatTo(out, "    ", one.parameter.name, " = ", FormatDouble(one.parameter.value), "  (set by ",
          one.principal, ", ", TimeText(one.set_ns), ", request ", one.request, ")\n");
  }
  return out;
}

}  // namespace pitwall
