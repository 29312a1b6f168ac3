// Formatting for e-mail parts (RFC 5322, 2045 to 2047). Input values cannot end a header or start a
// new line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::notifier {

// Address written as "Name <a@b>" or "a@b".
struct MailAddress {
  std::string name;     // UTF-8; may be ""
  std::string address;  // printable ASCII, one "@", no spaces
  std::string domain() const { return address.substr(address.rfind('@') + 1); }
};
// Parses an address. An InvalidArgument error contains the text and the reason.
StatusOr<MailAddress> ParseMailAddress(std::string_view text);

// Returns a header's encoded text. Control characters become spaces, non-ASCII text becomes encoded
// words (RFC 2047), and lines are folded at 76 bytes. `used` is the number of bytes that precede
// the text on its line ("Subject: ").
std::string HeaderText(std::string_view text, size_t used);
std::string HeaderAddress(const MailAddress& address, size_t used);
// Returns quoted-printable text in lines of at most 76 bytes that end with CRLF.
std::string QuotedPrintable(std::string_view text);
// Returns base64 without line breaks.
std::string Base64(std::string_view bytes);
// Returns a date such as "Tue, 24 Nov 2026 10:00:00 +0000".
std::string MailDate(int64_t unix_ns);

}  // namespace pitwall::notifier
