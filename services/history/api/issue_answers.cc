#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/event_link.h"
#include "services/codec/cloudevents/notification_event.h"
#include "services/history/api/answers.h"
#include "services/history/api/change_stream.h"
#include "services/history/api/json_fields.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr std::array<std::string_view, 3> kStates = {"all", "open", "ended"};

// Event of any topic. `encode` returns the CloudEvent.
struct TopicEvent {
  Change::Topic topic = Change::Topic::kIssue;
  int64_t time_ns = 0;
  std::function<std::string()> encode;
};

bool InState(size_t state, bool open) { return state == 0 || (state == 1) == open; }

void WriteIssueFields(const Issue& issue, const ApiOptions& options, JsonWriter* out) {
  const IssueEvent& newest = issue.newest();
  TextField("id", issue.id, out);
  TextField(
      "link",
      cloudevents::ExternalLink(options.external_url, cloudevents::IssueLink(newest.job, issue.id)),
      out);
  TextField("rule", newest.rule, out);
  TextField("alert", newest.alert, out);
  TextField("severity", newest.severity, out);
  LabelsField("labels", newest.labels, out);
  BoolField("open", issue.open(), out);
  TimeField("active_since_ns", newest.active_since.ns(), out);
  TimeField("onset_ns", issue.onset_ns(), out);
  TimeField("started_ns", newest.started_at.ns(), out);
  TimeField("last_seen_ns", newest.last_seen_at.ns(), out);
  TimeField("ended_ns", newest.ended_at.ns(), out);
  TextField("end_reason", EndReasonName(newest.end_reason), out);
  NumberField("value", newest.value, out);
  NumberField("threshold", issue.threshold().value_or(NormalNan()), out);
  IndexField("step", newest.step, out);
  CountField("attempt", newest.attempt, out);
  TextField("incident", newest.incident, out);
  TextField("root_cause", newest.root_cause, out);
  TextField("summary", newest.summary, out);
  if (const auto silenced = options.silenced ? options.silenced(newest) : std::nullopt) {
    ObjectField("silenced", out, [&] {
      TextField("by", silenced->by, out);
      TextField("comment", silenced->comment, out);
      TimeField("until_ns", silenced->until.ns(), out);
    });
  } else {
    NullField("silenced", out);
  }
  CountField("event_count", issue.events.size(), out);
  RawField("event", cloudevents::EncodeCloudEvent(newest), out);
}

Change::Topic TopicOf(const IssueEvent& event) {
  if (event.type == EventType::kJobChanged) return Change::Topic::kJob;
  return event.type == EventType::kRuleStatus ? Change::Topic::kStatus : Change::Topic::kIssue;
}

// Returns the events of all topics, sorted by time.
StatusOr<std::vector<TopicEvent>> EventsByTime(const History& history, std::string_view job) {
  ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> events, history.Events(job));
  ASSIGN_OR_RETURN(std::vector<ActionEvent> actions, history.Actions(job));
  ASSIGN_OR_RETURN(std::vector<RankCapture> captures, history.Captures(job));
  ASSIGN_OR_RETURN(std::vector<NotificationRecord> notifications, history.Notifications(job));
  std::vector<TopicEvent> out;
  out.reserve(events.size() + actions.size() + captures.size() + notifications.size());
  const auto add = [&](Change::Topic topic, int64_t time_ns, std::function<std::string()> encode) {
    out.push_back({topic, time_ns, std::move(encode)});
  };
  for (const IssueEventPtr& event : events) {
    add(TopicOf(*event), event->time.ns(),
        [event] { return cloudevents::EncodeCloudEvent(*event); });
  }
  for (ActionEvent& action : actions) {
    const int64_t time_ns = action.time.ns();
    add(Change::Topic::kAction, time_ns,
        [one = std::move(action)] { return cloudevents::EncodeCloudEvent(one); });
  }
  for (RankCapture& capture : captures) {
    const int64_t time_ns = capture.time.ns();
    add(Change::Topic::kCapture, time_ns,
        [one = std::move(capture)] { return cloudevents::EncodeRankCapture(one); });
  }
  for (NotificationRecord& notification : notifications) {
    const int64_t time_ns = notification.time.ns();
    add(Change::Topic::kNotification, time_ns,
        [one = std::move(notification)] { return cloudevents::EncodeNotification(one); });
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const TopicEvent& a, const TopicEvent& b) { return a.time_ns < b.time_ns; });
  return out;
}

// Reads `topic`. Without the parameter, all topics are selected.
std::set<Change::Topic> ReadEventTopics(Parameters* in) {
  std::set<Change::Topic> out;
  for (const std::string_view text : in->Texts("topic")) {
    const auto* const at = std::find(kTopicNames.begin(), kTopicNames.end(), text);
    const auto topic = static_cast<Change::Topic>(at - kTopicNames.begin());
    if (at == kTopicNames.end() || topic == Change::Topic::kSamples) {
      in->Fail(InvalidArgument(
          Cat("topic: must be job, issue, status, action, capture, or notification (got ",
              Quote(text.substr(0, 80)), ")")));
      return {};
    }
    out.insert(topic);
  }
  return out;
}

}  // namespace

Answer AnswerIssues(const ApiCall& call) {
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  const size_t state = in.Choice("state", kStates);
  const std::string_view rule = in.Text("rule"), severity = in.Text("severity");
  const std::string_view incident = in.Text("incident");
  const PageRequest page = ReadPage(&in, 100, 1000);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> events, call.history().Events(job->id));
  std::vector<Issue> issues = IssuesOf(events);
  std::erase_if(issues, [&](const Issue& issue) {
    const IssueEvent& newest = issue.newest();
    return !InState(state, issue.open()) || !RuleMatches(rule, newest.rule) ||
           (!severity.empty() && severity != newest.severity) ||
           !StartsWith(newest.incident, incident);
  });
  const Page rows = page.Of(issues.size());
  return JsonAnswer([&](JsonWriter* out) {
    ObjectsField("issues", rows.Of(issues), out,
                 [&](const Issue& issue) { WriteIssueFields(issue, call.options, out); });
    NextField(rows, out);
    CountField("total", issues.size(), out);
  });
}

Answer AnswerIssue(const ApiCall& call) {
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> events, call.history().Events(job->id));
  ASSIGN_OR_RETURN(const Issue issue, FindIssue(IssuesOf(events), call.parameters.Text("id")));
  ASSIGN_OR_RETURN(const std::vector<ActionEvent> actions, call.history().Actions(job->id));
  ASSIGN_OR_RETURN(const std::vector<NotificationRecord> notifications,
                   call.history().Notifications(job->id));
  return JsonAnswer([&](JsonWriter* out) {
    WriteIssueFields(issue, call.options, out);
    ArrayField("events", issue.events, out, [&](const IssueEventPtr& event) {
      out->Raw(cloudevents::EncodeCloudEvent(*event));
    });
    ArrayField("actions", actions, out, [&](const ActionEvent& action) {
      if (BelongsTo(action, issue.id, job->id, issue.newest().rule))
        out->Raw(cloudevents::EncodeCloudEvent(action));
    });
    ArrayField("notifications", notifications, out, [&](const NotificationRecord& one) {
      if (std::find(one.issues.begin(), one.issues.end(), issue.id) != one.issues.end())
        out->Raw(cloudevents::EncodeNotification(one));
    });
  });
}

Answer AnswerIncidents(const ApiCall& call) {
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  const size_t state = in.Choice("state", kStates);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> events, call.history().Events(job->id));
  std::vector<Incident> incidents = IncidentsOf(IssuesOf(events));
  std::erase_if(incidents, [&](const Incident& one) { return !InState(state, one.open); });
  return JsonAnswer([&](JsonWriter* out) {
    ObjectsField("incidents", incidents, out, [&](const Incident& incident) {
      TextField("id", incident.id, out);
      ObjectField("root", out, [&] { WriteIssueFields(incident.issues[0], call.options, out); });
      CountField("likely_roots", incident.likely_roots, out);
      BoolField("open", incident.open, out);
      TextField("severity", incident.severity, out);
      TimeField("started_ns", incident.started_ns, out);
      TimeField("ended_ns", incident.ended_ns, out);
      ObjectsField("issues", incident.issues, out,
                   [&](const Issue& issue) { WriteIssueFields(issue, call.options, out); });
    });
  });
}

namespace {

// Writes null if the loaded rules are unknown or do not contain this rule.
void WriteDefinition(const RuleDefinition* rule, JsonWriter* out) {
  if (rule == nullptr) return NullField("definition", out);
  ObjectField("definition", out, [&] {
    TextField("severity", rule->severity, out);
    TextField("summary", rule->summary, out);
    TextField("description", rule->description, out);
    TextField("suggestion", rule->suggestion, out);
    TextField("expression", rule->expression, out);
    TextField("clock", rule->clock, out);
    TextField("for", rule->hold, out);
    TextsField("needs", rule->needs, out);
    ObjectsField("parameters", rule->parameters, out, [&](const RuleParameter& parameter) {
      TextField("name", parameter.name, out);
      TextField("default", parameter.value, out);
      TextField("now", parameter.now, out);
      TextField("source", parameter.source, out);
      TextField("unit", parameter.unit, out);
      TextField("help", parameter.help, out);
    });
  });
}

}  // namespace

Answer AnswerEvents(const ApiCall& call) {
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  const std::set<Change::Topic> topics = ReadEventTopics(&in);
  const TimeRange range = in.Range({});
  const PageRequest page = ReadPage(&in, 1000, 10'000);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(std::vector<TopicEvent> events, EventsByTime(call.history(), job->id));
  std::erase_if(events, [&](const TopicEvent& event) {
    return event.time_ns < range.from_ns || event.time_ns >= range.to_ns ||
           (!topics.empty() && !topics.contains(event.topic));
  });
  const Page rows = page.Of(events.size());
  return JsonAnswer([&](JsonWriter* out) {
    ObjectsField("events", rows.Of(events), out, [&](const TopicEvent& event) {
      TextField("topic", kTopicNames[static_cast<size_t>(event.topic)], out);
      NsField("time_ns", event.time_ns, out);
      RawField("event", event.encode(), out);
    });
    NextField(rows, out);
    CountField("total", events.size(), out);
  });
}

Answer AnswerRules(const ApiCall& call) {
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> events, call.history().Events(job->id));
  const RuleDefinitions rules = call.options.rules ? call.options.rules(*job) : RuleDefinitions();
  return JsonAnswer([&](JsonWriter* out) {
    ObjectsField("rules", RuleStatesOf(*job, events), out, [&](const RuleState& rule) {
      TextField("rule", rule.rule, out);
      TextField("status", RuleStatusName(rule.status), out);
      TextField("reason", rule.reason, out);
      TextField("verdict", RuleStatusName(rule.verdict.status), out);
      TextField("verdict_reason", rule.verdict.reason, out);
      TimeField("since_ns", rule.since_ns, out);
      BoolField("ever_found", rule.ever_found, out);
      CountField("found", rule.found, out);
      CountField("open", rule.open, out);
      TimeField("last_found_ns", rule.last_found_ns, out);
      const auto definition = rules.find(rule.rule);
      WriteDefinition(definition == rules.end() ? nullptr : &definition->second, out);
    });
  });
}

Answer AnswerActions(const ApiCall& call) {
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  ASSIGN_OR_RETURN(const std::vector<ActionEvent> actions, call.history().Actions(job->id));
  ASSIGN_OR_RETURN(const std::vector<NotificationRecord> notifications,
                   call.history().Notifications(job->id));
  return JsonAnswer([&](JsonWriter* out) {
    ArrayField("actions", actions, out,
               [&](const ActionEvent& action) { out->Raw(cloudevents::EncodeCloudEvent(action)); });
    ArrayField("notifications", notifications, out, [&](const NotificationRecord& one) {
      out->Raw(cloudevents::EncodeNotification(one));
    });
  });
}

Answer AnswerCaptures(const ApiCall& call) {
  const std::string_view request = call.parameters.Text("request");
  const std::string_view issue = call.parameters.Text("issue");
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  ASSIGN_OR_RETURN(const std::vector<RankCapture> captures, call.history().Captures(job->id));
  return JsonAnswer([&](JsonWriter* out) {
    ArrayField("captures", captures, out, [&](const RankCapture& capture) {
      if ((request.empty() || request == capture.request) &&
          (issue.empty() || issue == capture.issue))
        out->Raw(cloudevents::EncodeRankCapture(capture));
    });
  });
}

}  // namespace pitwall::history
