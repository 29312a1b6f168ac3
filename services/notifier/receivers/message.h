// Message about an incident or an event of an issue: the values that Slack, e-mail, and gateways
// format.
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
  std::string id;        // the same when it is sent again
  std::string incident;  // what belongs together; "" for kOther
  // Whether all of it ended because what was wrong is over. Other ends say how they came
  // (`ended`).
  bool resolved = false;
  std::string ended;     // "cleared", "ended: job_ended (failed)"; "" while it is open
  std::string severity;  // may be ""
  std::string job;       // its name, or its id where it has none
  std::string job_id;
  std::string alert, rule;
  std::string rank, node;  // of the root cause; "" where it has none
  std::string step;        // likewise: digits
  std::string title;       // the alert with its labels
  std::string what;        // one sentence or a few
  std::string suggestion;
  std::string since;  // RFC 3339, to the second; "" for kOther
  std::string link;   // "" without the address of a server
  size_t issues = 0, open = 0;
  bool other_root = false;
  std::vector<std::string> further;  // titles of the incident's other issues, at most 5
  const IssueEvent* root = nullptr;  // borrowed from the delivery
  std::string_view action;           // of kAction: its verb
};

// `external_url`: address of the server that shows issues, "": none.
Message MessageOf(const Delivery& delivery, std::string_view external_url);

// "FOUND", "UPDATE", "RESOLVED" or "ENDED", or an action's (action_notice.h); of other events what
// they are.
std::string_view Verb(const Message& message);
// "[critical] UPDATE llm: NonFinite rank 3 step 120", without the verb of what is found: without
// line breaks, at most `max` bytes.
std::string Headline(const Message& message, size_t max);
// The same without the verb: for who says it himself.
std::string HeadlineWithoutVerb(const Message& message, size_t max);
// One line with everything: verb, severity, job, rule, rank, step, what, since when. The link comes
// last and is not cut; what is beyond `max` characters is cut at a word.
std::string OneLine(const Message& message, size_t max);

// The first `max` bytes at most, cut before a character and, where that loses little, at a word;
// "…" says that something is missing.
std::string CutAtWord(std::string_view text, size_t max);
// Control characters, line breaks among them, become blanks; bytes that are no UTF-8 U+FFFD.
std::string OneLineText(std::string_view text);
// The number of characters of a text in UTF-8.
size_t Characters(std::string_view text);

}  // namespace pitwall::notifier
