#include "services/adapters/grpc/issue_proto.h"

#include <algorithm>

#include "services/codec/cloudevents/cloud_event.h"
#include "services/model/position.h"

namespace pitwall::grpc_adapter {
namespace {

constexpr int64_t kNanos = 1'000'000'000;

void SetTime(int64_t unix_ns, google::protobuf::Timestamp* out) {
  const int64_t floor = FloorTo(unix_ns, kNanos);
  out->set_seconds(floor / kNanos);
  out->set_nanos(static_cast<int32_t>(unix_ns - floor));
}

int64_t GetTime(const google::protobuf::Timestamp& time) {
  return time.seconds() * kNanos + time.nanos();
}

Labels GetLabels(const google::protobuf::Map<std::string, std::string>& map) {
  std::vector<Label> labels;
  for (const auto& [name, value] : map) labels.push_back({name, value});
  return Labels::FromPairs(std::move(labels));
}

}  // namespace

void ToProto(const IssueEvent& e, issues_v1::IssueEvent* out) {
  out->set_id(e.id);
  out->set_source(cloudevents::EventSource(e.job));
  out->set_type(std::string(EventTypeName(e.type)));
  SetTime(e.time.ns(), out->mutable_time());
  issues_v1::Job& job = *out->mutable_job();
  job.set_id(e.job);
  job.set_name(e.job_name);
  if (e.reference != JobReference()) {
    issues_v1::JobReference& reference = *job.mutable_reference();
    reference.set_platform(e.reference.platform);
    reference.set_cluster(e.reference.cluster);
    reference.set_namespace_(e.reference.namespace_name);
    reference.set_kind(e.reference.kind);
    reference.set_name(e.reference.name);
    reference.set_uid(e.reference.uid);
    reference.set_queue(e.reference.queue);
  }
  out->set_attempt(e.attempt);
  out->set_rule(e.rule);
  out->set_alert(e.alert);
  for (const Label& label : e.labels) (*out->mutable_labels())[label.name] = label.value;
  out->set_severity(e.severity);
  if (e.active_since != EventTime()) SetTime(e.active_since.ns(), out->mutable_active_since());
  if (e.onset != EventTime()) SetTime(e.onset.ns(), out->mutable_onset_at());
  if (e.started_at != EventTime()) SetTime(e.started_at.ns(), out->mutable_started_at());
  if (e.last_seen_at != EventTime()) SetTime(e.last_seen_at.ns(), out->mutable_last_seen_at());
  if (e.ended_at != EventTime()) SetTime(e.ended_at.ns(), out->mutable_ended_at());
  // A test verifies that the enums have the same numbers.
  out->set_end_reason(static_cast<issues_v1::EndReason>(e.end_reason));
  out->set_sequence(e.sequence);
  if (e.type != EventType::kRuleStatus && e.type != EventType::kJobChanged)
    out->set_issue(IssueId(e));
  out->set_value(e.value);
  for (const auto& [name, value] : e.parameters) (*out->mutable_parameters())[name] = value;
  if (e.threshold) out->set_threshold(*e.threshold);
  if (e.step >= 0) out->set_step(static_cast<uint64_t>(e.step));
  for (const Evidence& evidence : e.evidence) {
    issues_v1::Evidence& to = *out->add_evidence();
    to.set_name(evidence.name);
    for (const Label& label : evidence.labels) (*to.mutable_labels())[label.name] = label.value;
    to.set_value(evidence.value);
  }
  out->set_summary(e.summary);
  out->set_description(e.description);
  out->set_suggestion(e.suggestion);
  out->set_capture(e.capture);
  out->set_incident(e.incident);
  out->set_root_cause(e.root_cause);
  out->set_status(static_cast<issues_v1::RuleStatus>(e.status));
  out->set_previous_status(static_cast<issues_v1::RuleStatus>(e.previous_status));
  out->set_status_reason(e.status_reason);
  out->set_ever_found(e.ever_found);
  out->set_owner(e.owner);
  out->set_end_detail(static_cast<issues_v1::EndDetail>(e.end_detail));
  out->set_job_change(static_cast<issues_v1::JobChange>(e.job_change));
  if (e.lost_rank) {
    issues_v1::LostRank& lost = *out->mutable_lost_rank();
    lost.set_rank(static_cast<uint32_t>(e.lost_rank->rank));
    lost.set_node(e.lost_rank->node);
    if (e.lost_rank->signal) lost.set_signal(*e.lost_rank->signal);
    if (e.lost_rank->exit_code) lost.set_exit_code(*e.lost_rank->exit_code);
    lost.set_oom_killed(e.lost_rank->oom_killed);
  }
}

IssueEvent FromProto(const issues_v1::IssueEvent& in) {
  IssueEvent e;
  e.type = ParseEventType(in.type()).value_or(EventType::kIssueFound);
  e.id = in.id();
  e.time = EventTime::FromNs(GetTime(in.time()));
  e.job = in.job().id();
  e.job_name = in.job().name();
  const issues_v1::JobReference& reference = in.job().reference();
  e.reference = {reference.platform(), reference.cluster(), reference.namespace_(),
                 reference.kind(),     reference.name(),    reference.uid(),
                 reference.queue()};
  e.attempt = in.attempt();
  e.rule = in.rule();
  e.alert = in.alert();
  e.labels = GetLabels(in.labels());
  e.severity = in.severity();
  e.active_since = EventTime::FromNs(GetTime(in.active_since()));
  e.onset = EventTime::FromNs(GetTime(in.onset_at()));
  e.started_at = EventTime::FromNs(GetTime(in.started_at()));
  e.last_seen_at = EventTime::FromNs(GetTime(in.last_seen_at()));
  e.ended_at = EventTime::FromNs(GetTime(in.ended_at()));
  if (issues_v1::EndReason_IsValid(in.end_reason()))
    e.end_reason = static_cast<EndReason>(in.end_reason());
  e.sequence = in.sequence();
  e.value = in.value();
  for (const auto& [name, value] : in.parameters()) e.parameters.emplace_back(name, value);
  std::sort(e.parameters.begin(), e.parameters.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  if (in.has_threshold()) e.threshold = in.threshold();
  if (in.has_step() && in.step() <= static_cast<uint64_t>(INT64_MAX))
    e.step = static_cast<int64_t>(in.step());
  for (const issues_v1::Evidence& evidence : in.evidence()) {
    e.evidence.push_back({evidence.name(), GetLabels(evidence.labels()), evidence.value()});
  }
  e.summary = in.summary();
  e.description = in.description();
  e.suggestion = in.suggestion();
  e.capture = in.capture();
  e.incident = in.incident();
  e.root_cause = in.root_cause();
  if (issues_v1::RuleStatus_IsValid(in.status())) e.status = static_cast<RuleStatus>(in.status());
  if (issues_v1::RuleStatus_IsValid(in.previous_status())) {
    e.previous_status = static_cast<RuleStatus>(in.previous_status());
  }
  e.status_reason = in.status_reason();
  e.ever_found = in.ever_found();
  e.owner = in.owner();
  if (issues_v1::EndDetail_IsValid(in.end_detail()))
    e.end_detail = static_cast<EndDetail>(in.end_detail());
  if (issues_v1::JobChange_IsValid(in.job_change()))
    e.job_change = static_cast<JobChange>(in.job_change());
  if (in.has_lost_rank()) {
    const issues_v1::LostRank& lost = in.lost_rank();
    e.lost_rank = LostRank{.rank = lost.rank(),
                           .node = lost.node(),
                           .signal = {},
                           .exit_code = {},
                           .oom_killed = lost.oom_killed()};
    if (lost.has_signal()) e.lost_rank->signal = lost.signal();
    if (lost.has_exit_code()) e.lost_rank->exit_code = lost.exit_code();
  }
  return e;
}

void ToProto(const SilencedIssue& silenced, issues_v1::SilencedIssue* out) {
  out->set_issue(silenced.issue);
  out->set_by(silenced.by);
  out->set_comment(silenced.comment);
  SetTime(silenced.until.ns(), out->mutable_until());
}

SilencedIssue FromProto(const issues_v1::SilencedIssue& silenced) {
  return {silenced.issue(), silenced.by(), silenced.comment(),
          EventTime::FromNs(GetTime(silenced.until()))};
}

void ToProto(const IssueFilter& filter, issues_v1::IssueFilter* out) {
  out->set_job(filter.job);
  out->set_rule(filter.rule);
  out->set_severity(filter.severity);
  out->set_include_status(filter.include_status);
  out->set_incident(filter.incident);
  out->set_include_job_changes(filter.include_job_changes);
}

IssueFilter FromProto(const issues_v1::IssueFilter& filter) {
  return {filter.job(),      filter.rule(),
          filter.severity(), filter.include_status(),
          filter.incident(), filter.include_job_changes()};
}

}  // namespace pitwall::grpc_adapter
