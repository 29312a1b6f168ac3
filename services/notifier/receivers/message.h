// Message about an incident or an event of an issue, with the values that Slack, e-mail, and
// gateways format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/notifier/receivers/receiver.h"

namespace pitwall::notifier {

struct Message {
  // kOther: rule status, change of a job.
  enum class Kind { kFound, kUpdated, kEnded, kAction, kOther };

  Kind kind = Kind::kFound;
  std::string id;        // the same for each attempt
  std::string incident;  // key of the incident; "" for kOther
  // True if every issue ended by being cleared. Other ends have their reason in `ended`.
  bool resolved = false;
  std::string ended;     // "cleared", "ended: job_ended (failed)"; "" while it is open
  std::string severity;  // may be ""
  std::string job;       // its name, or its ID if it has no name
  std::string job_id;
  std::string alert, rule;
  std::string rank, node;  // of the root cause; may be ""
  std::string step;        // digits, of the root cause; may be ""
  std::string title;       // the alert with its labels
  std::string what;        // one or a few sentences
  std::string suggestion;
  std::string since;  // RFC 3339, to the second; "" for kOther
  std::string link;   // "" if no server address is configured
  size_t issues = 0, open = 0;
  bool other_root = false;
  std::vector<std::string> further;  // titles of at most 5 other issues of the incident
  const IssueEvent* root = nullptr;  // borrowed from the delivery
  std::string_view action;           // verb of kAction
};

// `external_url`: address of the server that shows issues, or "".
Message MessageOf(const Delivery& delivery, std::string_view external_url);

// Returns "FOUND", "UPDATE", "RESOLVED", or "ENDED", the verb of an action (action_notice.h), or
// the type of another event.
std::string_view Verb(const Message& message);
// Returns a line such as "[critical] UPDATE llm: NonFinite rank 3 step 120", of at most `max`
// bytes. A found issue has no verb.
std::string Headline(const Message& message, size_t max);
// Returns the headline without the verb, for receivers that show the verb separately.
std::string HeadlineWithoutVerb(const Message& message, size_t max);
// Returns one line with everything: verb, severity, job, rule, rank, step, summary, and start time.
// The link comes last and is never cut; text beyond `max` characters is cut at a word.
std::string OneLine(const Message& message, size_t max);

// Returns at most the first `max` bytes, cut between characters and, if possible, at a word, with
// "…" at a cut.
std::string CutAtWord(std::string_view text, size_t max);
// Replaces control characters, including line breaks, by spaces, and invalid UTF-8 by U+FFFD.
std::string OneLineText(std::string_view text);
// Returns the number of characters of a UTF-8 text.
size_t Characters(std::string_view text);

}  // namespace pitwall::notifier
