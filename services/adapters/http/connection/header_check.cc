#include "services/adapters/http/connection/header_check.h"

#include <algorithm>
#include <cctype>

#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

bool IsTokenByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool SameName(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() &&
         std::equal(a.begin(), a.end(), lower.begin(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

// Matches uri-host with an optional port; an empty host is allowed.
bool IsHost(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-._~!$&'()*+;=:[]%").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string_view HeaderFault(std::string_view header) {
  size_t end = header.find("\r\n");
  if (end == std::string_view::npos) return "the request line has no end";
  const std::string_view request_line = header.substr(0, end);
  if (request_line.find('\n') != std::string_view::npos) return "a line does not end with CRLF";
  const bool http10 = EndsWith(request_line, " HTTP/1.0");
  int hosts = 0, encodings = 0, lengths = 0;
  for (header.remove_prefix(end + 2); !StartsWith(header, "\r\n"); header.remove_prefix(end + 2)) {
    end = header.find("\r\n");
    if (end == std::string_view::npos) return "the header has no end";
    const std::string_view line = header.substr(0, end);
    if (line[0] == ' ' || line[0] == '\t') return "folded header line";
    const size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() ||
        !std::all_of(name.begin(), name.end(), IsTokenByte))
      return "malformed header line";
    const std::string_view value = Trim(line.substr(colon + 1));
    const auto control = [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    };
    if (std::any_of(line.begin(), line.end(), control)) return "control character in the header";
    if (SameName(name, "host")) {
      if (++hosts > 1) return "two Host headers";
      if (!IsHost(value)) return "malformed Host header";
    } else if (SameName(name, "transfer-encoding")) {
      if (++encodings > 1) return "two Transfer-Encoding headers";
      if (!SameName(value, "chunked")) return "unknown transfer coding";
    } else if (SameName(name, "content-length")) {
      if (++lengths > 1) return "two Content-Length headers";
      if (value.empty() || value.find_first_not_of("0123456789") != std::string_view::npos)
        return "malformed Content-Length header";
    }
  }
  if (hosts == 0 && !http10) return "no Host header";
  if (encodings > 0 && http10) return "transfer coding in HTTP/1.0";
  if (encodings > 0 && lengths > 0) return "both Transfer-Encoding and Content-Length";
  return "";
}

}  // namespace pitwall::http
