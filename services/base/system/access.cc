#include "services/base/system/access.h"

#include "services/base/text/strings.h"

namespace pitwall {

bool SameSecret(std::string_view given, std::string_view secret) {
  volatile unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < secret.size(); ++i) {
    const char c = i < given.size() ? given[i] : '\0';
    difference = difference | static_cast<unsigned char>(c ^ secret[i]);
  }
  return difference == 0;
}

Role RoleOfToken(const AccessTokens& tokens, std::string_view token) {
  const bool act = !tokens.act.empty() && SameSecret(token, tokens.act);
  const bool view = !tokens.view.empty() && SameSecret(token, tokens.view);
  return act ? Role::kAct : view ? Role::kView : Role::kNone;
}

Role RoleOfAuthorization(const AccessTokens& tokens, std::string_view authorization) {
  constexpr std::string_view kBearer = "Bearer ";
  if (!StartsWith(authorization, kBearer)) return Role::kNone;
  return RoleOfToken(tokens, authorization.substr(kBearer.size()));
}

}  // namespace pitwall
