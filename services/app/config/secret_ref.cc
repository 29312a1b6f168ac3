#include "services/app/config/secret_ref.h"

#include <cstdlib>
#include <utility>

#include "services/base/system/files.h"
#include "services/base/text/strings.h"

namespace pitwall {

StatusOr<std::string> ReadToken(const std::string& place) {
  std::string token;
  if (StartsWith(place, "env:")) {
    const char* value = std::getenv(place.c_str() + 4);
    token = Trim(value == nullptr ? "" : value);
  } else {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(place, 4096));
    token = Trim(text);
  }
  if (token.empty())
    return InvalidArgument(Cat(place, ": token is empty; write a token to this location"));
  return token;
}

StatusOr<std::map<std::string, std::string>> ReadSecrets(std::map<std::string, std::string> texts) {
  constexpr std::string_view kFile = "file:";
  for (auto& [key, text] : texts) {
    const bool file = StartsWith(text, kFile);
    if (!file && !StartsWith(text, "env:")) continue;
    auto secret = ReadToken(file ? text.substr(kFile.size()) : text);
    if (!secret.ok()) return Annotate(secret.status(), key);
    text = *std::move(secret);
  }
  return texts;
}

namespace {

// Returns the range [first, second) of the user and password in a URL. A non-empty range is
// followed by '@'.
std::pair<size_t, size_t> UserOf(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == url.npos ? 0 : scheme + 3;
  const size_t at = url.substr(begin, url.find_first_of("/?#", begin) - begin).rfind('@');
  return {begin, at == url.npos ? begin : begin + at};
}

}  // namespace

std::string ShownUrl(std::string_view url) {
  const auto [begin, end] = UserOf(url);
  const size_t query = url.find_first_of("?#", end);
  return Cat(url.substr(0, begin), end > begin ? "…" : "", url.substr(end, query - end),
             query == url.npos ? "" : "?…");
}

Status CheckUrlWithoutSecrets(std::string_view url) {
  const auto [begin, end] = UserOf(url);
  if (begin == end) return OkStatus();
  return InvalidArgument(
      Cat("URL must not contain a user or password (got ", ShownUrl(url), "); put them in a file"));
}

}  // namespace pitwall
