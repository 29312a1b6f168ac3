#include "services/pitwall/secret_place.h"

#include <cstdlib>

#include "services/base/files.h"
#include "services/base/strings.h"

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
  if (token.empty()) return InvalidArgument(Cat(place, ": the token is empty; write one into it"));
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

}  // namespace pitwall
