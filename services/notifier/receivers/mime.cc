#include "services/notifier/receivers/mime.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "services/base/text/strings.h"
#include "services/base/text/utf8.h"
#include "services/notifier/receivers/message.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kLine = 76;
constexpr std::string_view kHex = "0123456789ABCDEF";

bool Ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Encodes text as =?UTF-8?B?…?= words that contain only whole characters. Each word encodes at most
// 39 bytes and is at most 64 bytes long, including its delimiters.
std::string EncodedWords(std::string_view text, size_t used) {
  std::string out;
  size_t line = used;
  while (!text.empty()) {
    size_t end = 0;
    while (end < text.size()) {
      const size_t next = end + std::max<size_t>(1, Utf8Length(text.substr(end)));
      if (next > 39) break;
      end = next;
    }
    const std::string word = Cat("=?UTF-8?B?", Base64(text.substr(0, end)), "?=");
    if (!out.empty() || line + word.size() > kLine) {
      out += "\r\n ";
      line = 1;
    }
    out += word;
    line += word.size();
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace

StatusOr<MailAddress> ParseMailAddress(std::string_view text) {
  MailAddress out;
  text = Trim(text);
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; })) {
    return InvalidArgument(Cat(Quote(text), ": must not contain control characters"));
  }
  const size_t open = text.rfind('<');
  if (open != std::string_view::npos) {
    if (!EndsWith(text, ">")) return InvalidArgument(Cat(Quote(text), ": \">\" is missing"));
    std::string_view name = Trim(text.substr(0, open));
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"')
      name = name.substr(1, name.size() - 2);
    out.name = std::string(name);
    text = Trim(text.substr(open + 1, text.size() - open - 2));
  }
  const size_t at = text.rfind('@');
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7F &&
           std::string_view("<>()[],;:\\\"").find(c) == std::string_view::npos;
  });
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size() || !plain ||
      text.find('@') != at || text.size() > 254) {
    return InvalidArgument(
        Cat(Quote(text), ": must be an ASCII e-mail address like name@example.org"));
  }
  out.address = std::string(text);
  return out;
}

std::string HeaderText(std::string_view text, size_t used) {
  const std::string line = OneLineText(text);
  // Text that looks like an encoded word must be encoded, because mail clients would decode it.
  if (!Ascii(line) || line.find("=?") != std::string::npos) return EncodedWords(line, used);
  std::string out;
  size_t column = used;
  for (std::string_view rest = line; !rest.empty();) {
    const size_t blank = std::min(rest.find(' ', 1), rest.size());
    const std::string_view word = rest.substr(0, blank);
    if (word.size() > 900) return EncodedWords(line, used);  // lines must not exceed 998 bytes
    if (column + word.size() > kLine && column > used && word.front() == ' ' && word.size() > 1) {
      out += "\r\n";
      column = 0;
    }
    out += word;
    column += word.size();
    rest.remove_prefix(blank);
  }
  return out;
}

std::string HeaderAddress(const MailAddress& address, size_t used) {
  if (address.name.empty()) return address.address;
  const std::string name = OneLineText(address.name);
  std::string text;
  if (!Ascii(name) || name.find("=?") != std::string::npos) {
    text = EncodedWords(name, used);
  } else {
    text = "\"";
    for (const char c : name) {
      if (c == '"' || c == '\\') text.push_back('\\');
      text.push_back(c);
    }
    text.push_back('"');
  }
  return Cat(text, "\r\n <", address.address, ">");
}

std::string QuotedPrintable(std::string_view text) {
  std::string out;
  size_t column = 0;
  const auto put = [&](std::string_view piece) {
    if (column + piece.size() > kLine - 1) {
      out += "=\r\n";
      column = 0;
    }
    out += piece;
    column += piece.size();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\r') continue;
    if (c == '\n') {
      out += "\r\n";
      column = 0;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    const bool last = i + 1 == text.size() || text[i + 1] == '\n';
    // Encodes "." at the start of a line (special in SMTP) and "From " (changed by some servers).
    const bool plain =
        (byte > 0x20 && byte < 0x7F && c != '=' && !(column == 0 && (c == '.' || c == 'F'))) ||
        ((c == ' ' || c == '\t') && !last);
    if (plain) {
      put(std::string_view(&c, 1));
    } else {
      const char code[] = {'=', kHex[byte >> 4U], kHex[byte & 15U]};
      put(std::string_view(code, 3));
    }
  }
  if (column > 0) out += "\r\n";
  return out;
}

std::string Base64(std::string_view bytes) { return absl::Base64Escape(ToAbsl(bytes)); }

std::string MailDate(int64_t unix_ns) {
  return absl::FormatTime("%a, %d %b %E4Y %H:%M:%S +0000", absl::FromUnixNanos(unix_ns),
                          absl::UTCTimeZone());
}

}  // namespace pitwall::notifier
