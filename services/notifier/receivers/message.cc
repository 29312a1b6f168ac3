#include "services/notifier/receivers/message.h"

#include <algorithm>

#include "absl/time/time.h"
#include "services/base/text/strings.h"
#include "services/base/text/utf8.h"
#include "services/codec/cloudevents/event_link.h"
#include "services/model/issues/job_end.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kMaxFurther = 5;
constexpr std::string_view kEllipsis = "…";

std::string TimeText(int64_t unix_ns) {
  if (unix_ns == 0) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixNanos(unix_ns), absl::UTCTimeZone());
}

// Returns the issue's label. For a folded issue, the ranks are in the evidence, leading rank first.
std::string LabelOf(const IssueEvent& event, std::string_view name) {
  if (event.labels.Has(name)) return std::string(event.labels.Get(name));
  for (const Evidence& evidence : event.evidence) {
    if (evidence.labels.Has(name)) return std::string(evidence.labels.Get(name));
  }
  return "";
}

std::string EndText(const IssueEvent& event) {
  if (event.end_reason == EndReason::kCleared) return "cleared";
  std::string text = Cat("ended: ", EndReasonName(event.end_reason));
  if (event.end_detail != EndDetail::kNone) CatTo(text, " (", EndDetailName(event.end_detail), ")");
  return text;
}

Message::Kind KindOf(EventType type) {
  switch (type) {
    case EventType::kIssueFound:
      return Message::Kind::kFound;
    case EventType::kIssueUpdated:
      return Message::Kind::kUpdated;
    case EventType::kIssueResolved:
      return Message::Kind::kEnded;
    default:
      return Message::Kind::kOther;
  }
}

std::string JobText(const IssueEvent& event) {
  std::string text = event.job_change == JobChange::kNone
                         ? Cat("rule ", event.rule, ": ", RuleStatusName(event.status))
                         : Cat("job ", JobChangeName(event.job_change));
  if (const std::string end = JobEndText(event.end_detail, event.summary); !end.empty())
    CatTo(text, ": ", end);
  if (event.lost_rank.has_value())
    CatTo(text, ": rank ", event.lost_rank->rank, " on ", event.lost_rank->node);
  if (!event.status_reason.empty()) CatTo(text, ": ", event.status_reason);
  return text;
}

void AddNotice(const Notice& notice, Message* out) {
  out->id = notice.id;
  out->incident = notice.incident;
  out->kind = KindOf(notice.kind);
  out->severity = notice.severity;
  out->what = notice.summary;
  out->since = TimeText(notice.began_ns);
  out->issues = notice.issue_count;
  out->open = notice.open_count;
  out->other_root = notice.other_root;
  if (out->location.node.empty()) out->location.node = notice.node;
  for (size_t i = 1; i < notice.issues.size() && i <= kMaxFurther; ++i)
    out->further.push_back(OneLineText(IssueTitle(*notice.issues[i].event)));
  if (notice.open()) return;
  out->resolved = std::all_of(notice.issues.begin(), notice.issues.end(), [](const auto& issue) {
    return issue.event->end_reason == EndReason::kCleared;
  });
  const auto other = std::find_if(
      notice.issues.begin(), notice.issues.end(),
      [](const auto& issue) { return issue.event->end_reason != EndReason::kCleared; });
  out->ended = out->resolved ? "cleared" : EndText(*other->event);
}

void AddEvent(const IssueEvent& event, Message* out) {
  out->id = event.id;
  out->kind = KindOf(event.type);
  if (out->kind == Message::Kind::kOther) {
    out->what = JobText(event);
    return;
  }
  out->incident = event.incident.empty() ? IssueId(event) : event.incident;
  out->severity = event.severity;
  out->what = event.summary.empty() ? out->title : event.summary;
  out->since = TimeText(event.active_since.ns());
  out->issues = 1;
  out->open = IsOpen(event) ? 1 : 0;
  if (IsOpen(event)) return;
  out->resolved = event.end_reason == EndReason::kCleared;
  out->ended = EndText(event);
}

void AddAction(const ActionNotice& notice, Message* out) {
  const ActionEvent& action = notice.action;
  out->id = action.id;
  out->incident = notice.incident;
  out->kind = Message::Kind::kAction;
  out->action = ActionVerb(action);
  out->severity = action.severity;
  out->rule = action.rule;
  out->what = ActionText(action);
  out->suggestion = "";
  out->since = TimeText(action.time.ns());
}

}  // namespace

std::string MessageLocation::Text() const {
  std::string text;
  if (!rank.empty()) CatTo(text, " rank ", rank);
  if (!node.empty()) CatTo(text, " node ", node);
  if (!step.empty()) CatTo(text, " step ", step);
  return text;
}

Message MessageOf(const Delivery& delivery, std::string_view external_url) {
  const IssueEvent& event = *delivery.event;
  Message out;
  out.root = &event;
  out.job = event.job_name.empty() ? event.job : event.job_name;
  out.job_id = event.job;
  out.alert = event.alert;
  out.rule = event.rule;
  out.location.rank = LabelOf(event, "rank");
  out.location.node = LabelOf(event, "node");
  if (event.step != kNoStep) out.location.step = Cat(event.step);
  out.title = event.alert.empty() ? "" : IssueTitle(event);
  out.suggestion = event.suggestion;
  if (!external_url.empty())
    out.link = cloudevents::ExternalLink(external_url, cloudevents::EventLink(event));
  if (delivery.action != nullptr) {
    AddAction(*delivery.action, &out);
  } else if (delivery.notice != nullptr) {
    AddNotice(*delivery.notice, &out);
  } else {
    AddEvent(event, &out);
  }
  return out;
}

std::string_view Verb(const Message& message) {
  switch (message.kind) {
    case Message::Kind::kFound:
      return "FOUND";
    case Message::Kind::kUpdated:
      return "UPDATE";
    case Message::Kind::kEnded:
      return message.resolved ? "RESOLVED" : "ENDED";
    case Message::Kind::kAction:
      return message.action;
    case Message::Kind::kOther:
      break;
  }
  return message.root->type == EventType::kRuleStatus ? "STATUS" : "JOB";
}

namespace {

// Returns a subject such as "llm: NonFinite rank 3 step 120".
std::string Subject(const Message& message) {
  return Cat(message.job, ": ", message.alert.empty() ? message.what : message.alert,
             message.location.Text());
}

std::string HeadlineOf(const Message& message, std::string_view verb, size_t max) {
  std::string text;
  if (!message.severity.empty()) CatTo(text, "[", message.severity, "] ");
  if (!verb.empty()) CatTo(text, verb, " ");
  CatTo(text, Subject(message));
  return CutAtWord(OneLineText(text), max);
}

}  // namespace

std::string Headline(const Message& message, size_t max) {
  return HeadlineOf(message, message.kind == Message::Kind::kFound ? "" : Verb(message), max);
}

std::string HeadlineWithoutVerb(const Message& message, size_t max) {
  return HeadlineOf(message, "", max);
}

std::string OneLine(const Message& message, size_t max) {
  std::string text(Verb(message));
  if (!message.severity.empty()) CatTo(text, " ", message.severity);
  CatTo(text, " ", Subject(message));
  if (!message.since.empty()) CatTo(text, " since ", message.since);
  if (!message.ended.empty() && !message.resolved) CatTo(text, ", ", message.ended);
  if (!message.alert.empty()) CatTo(text, ": ", message.what);
  text = OneLineText(text);
  // SMS carriers count characters, not bytes.
  const size_t link = message.link.empty() ? 0 : Characters(message.link) + 1;
  if (link >= max) return CutAtWord(text, max);
  const size_t room = max - link;
  size_t bytes = text.size();
  if (Characters(text) > room) {
    bytes = 0;
    for (size_t i = 0; i < room; ++i)
      bytes += std::max<size_t>(1, Utf8Length(std::string_view(text).substr(bytes)));
    // The ellipsis is one character but three bytes.
    text = CutAtWord(text, bytes);
  }
  return message.link.empty() ? text : Cat(text, " ", message.link);
}

std::string CutAtWord(std::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  if (max < kEllipsis.size()) return "";
  size_t end = max - kEllipsis.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  const size_t blank = text.substr(0, end + 1).rfind(' ');
  if (blank != std::string_view::npos && blank >= end - std::min<size_t>(end, 30)) end = blank;
  return Cat(text.substr(0, end), kEllipsis);
}

std::string OneLineText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool after_control = false;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text.substr(i));
    const auto c = static_cast<unsigned char>(text[i]);
    // C0 control characters and DEL are one byte long. C1 control characters and the line and
    // paragraph separators are two or three bytes long.
    const std::string_view all = text.substr(i, std::max<size_t>(1, length));
    const bool control =
        c < 0x20 || c == 0x7F ||
        (length == 2 && c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) ||
        all == "\u2028" || all == "\u2029";
    // Spaces next to a line break are removed together with the line break.
    const bool blank = c == ' ' && after_control;
    if (length == 0) {
      out += "\uFFFD";
    } else if (control) {
      if (!out.empty() && out.back() != ' ') out.push_back(' ');
    } else if (!blank) {
      out += all;
    }
    after_control = control || blank;
    i += std::max<size_t>(1, length);
  }
  return out;
}

size_t Characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace pitwall::notifier
