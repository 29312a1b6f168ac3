// Message about an incident or an issue event, with the values that the Slack, e-mail, and gateway
// receivers format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

// Location of a message's root cause. Each value may be "".
struct MessageLocation {
  std::string rank;
  std::string node;
  std::string step;  // as digits

  // Returns " rank 3 node n1 step 120", omitting empty values.
  std::string Text() const;
};

struct Message {
  // kOther is a rule status or a job change.
  enum class Kind { kFound, kUpdated, kEnded, kAction, kOther };

  Kind kind = Kind::kFound;
  std::string id;        // identical for every attempt
  std::string incident;  // incident key; "" for kOther
  // True if every issue was cleared. For all other ends, `ended` contains the reason.
  bool resolved = false;
  std::string ended;     // "cleared" or "ended: job_ended (failed)"; "" while the incident is open
  std::string severity;  // may be ""
  std::string job;       // job name, or the job ID if there is no name
  std::string job_id;
  std::string alert, rule;
  MessageLocation location;
  std::string title;  // alert name with its labels
  std::string what;   // one or more sentences
  std::string suggestion;
  std::string since;  // RFC 3339, with seconds; "" for kOther
  std::string link;   // "" if no server address is configured
  size_t issues = 0, open = 0;
  bool other_root = false;
  std::vector<std::string> further;  // titles of up to 5 other issues of the incident
  const IssueEvent* root = nullptr;  // owned by the delivery
  std::string_view action;           // verb of a kAction message
};

// `external_url` is the address of the server that shows issues. May be "".
Message MessageOf(const Delivery& delivery, std::string_view external_url);

// Returns "FOUND", "UPDATE", "RESOLVED", or "ENDED". For an action, returns the verb of the action
// (action_notice.h). For any other event, returns the event's type.
std::string_view Verb(const Message& message);
// Returns a headline such as "[critical] UPDATE llm: NonFinite rank 3 step 120", of at most `max`
// bytes. The headline of a found issue has no verb.
std::string Headline(const Message& message, size_t max);
// Returns the headline without the verb, for receivers that show the verb separately.
std::string HeadlineWithoutVerb(const Message& message, size_t max);
// Returns one line with the verb, severity, job, rule, rank, step, summary, and start time. The
// link is at the end and is never truncated. Text beyond `max` characters is truncated at a word
// boundary.
std::string OneLine(const Message& message, size_t max);

// Returns at most the first `max` bytes of the text. Truncates between characters, at a word
// boundary if possible, and marks the truncation with "…".
std::string CutAtWord(std::string_view text, size_t max);
// Replaces control characters, including line breaks, with spaces. Replaces invalid UTF-8 with
// U+FFFD.
std::string OneLineText(std::string_view text);
// Returns the number of characters in a UTF-8 string.
size_t Characters(std::string_view text);

}  // namespace pitwall::notifier
