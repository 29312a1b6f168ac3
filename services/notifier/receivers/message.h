// Message about an incident or an issue event, with the values that Slack, e-mail, and gateways
// format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct Message {
  // kOther: a rule status or a job change.
  enum class Kind { kFound, kUpdated, kEnded, kAction, kOther };

  Kind kind = Kind::kFound;
  std::string id;        // identical for every attempt
  std::string incident;  // incident key; "" for kOther
  // True if every issue was cleared. For other ends, `ended` has the reason.
  bool resolved = false;
  std::string ended;     // "cleared" or "ended: job_ended (failed)"; "" while the incident is open
  std::string severity;  // may be ""
  std::string job;       // job name, or the job ID if there is no name
  std::string job_id;
  std::string alert, rule;
  std::string rank, node;  // rank and node of the root cause; may be ""
  std::string step;        // step of the root cause in digits; may be ""
  std::string title;       // alert name with its labels
  std::string what;        // one or more sentences
  std::string suggestion;
  std::string since;  // RFC 3339, to the second; "" for kOther
  std::string link;   // "" if no server address is configured
  size_t issues = 0, open = 0;
  bool other_root = false;
  std::vector<std::string> further;  // titles of at most 5 other issues of the incident
  const IssueEvent* root = nullptr;  // owned by the delivery
  std::string_view action;           // verb for kAction
};

// `external_url` is the address of the server that shows issues, or "".
Message MessageOf(const Delivery& delivery, std::string_view external_url);

// Returns "FOUND", "UPDATE", "RESOLVED", or "ENDED". For an action, returns its verb
// (action_notice.h); for any other event, its type.
std::string_view Verb(const Message& message);
// Returns a line such as "[critical] UPDATE llm: NonFinite rank 3 step 120", of at most `max`
// bytes. The line for a found issue has no verb.
std::string Headline(const Message& message, size_t max);
// Returns the headline without the verb, for receivers that show the verb separately.
std::string HeadlineWithoutVerb(const Message& message, size_t max);
// Returns one line with the verb, severity, job, rule, rank, step, summary, and start time. The
// link comes last and is never cut; text beyond `max` characters is cut at a word.
std::string OneLine(const Message& message, size_t max);

// Returns at most the first `max` bytes of the text. Cuts between characters, at a word if
// possible, and marks the cut with "…".
std::string CutAtWord(std::string_view text, size_t max);
// Replaces control characters, including line breaks, with spaces, and invalid UTF-8 with U+FFFD.
std::string OneLineText(std::string_view text);
// Returns the number of characters in a UTF-8 text.
size_t Characters(std::string_view text);

}  // namespace pitwall::notifier
