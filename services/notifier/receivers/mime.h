// The parts of an e-mail (RFC 5322, 2045 to 2047): nothing that comes from outside can end a header
// or begin a line of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::notifier {

// "Name <a@b>" or "a@b".
struct MailAddress {
  std::string name;     // UTF-8; "": none
  std::string address;  // printable ASCII, one "@", without blanks
  std::string domain() const { return address.substr(address.rfind('@') + 1); }
};
// InvalidArgument says what is wrong.
StatusOr<MailAddress> ParseMailAddress(std::string_view text);

// A header's text: control characters become blanks, what is not ASCII encoded words (RFC 2047),
// and lines are folded at 76 bytes. `used`: bytes of the line before it ("Subject: ").
std::string HeaderText(std::string_view text, size_t used);
std::string HeaderAddress(const MailAddress& address, size_t used);
// Quoted-printable, lines of at most 76 bytes that end with CRLF.
std::string QuotedPrintable(std::string_view text);
// Base64 without line breaks.
std::string Base64(std::string_view bytes);
// "Tue, 24 Nov 2026 10:00:00 +0000"
std::string MailDate(int64_t unix_ns);

}  // namespace pitwall::notifier
