// Role of a token: view reads, act also changes things. Each role has its own token.
#pragma once

#include <string>
#include <string_view>

namespace pitwall {

enum class Role { kNone, kView, kAct };  // in the order of what they allow

struct AccessTokens {
  std::string view;  // "": nobody is let in by it
  std::string act;
  bool empty() const { return view.empty() && act.empty(); }
};

// Takes a time that depends on the length of the secret alone.
bool SameSecret(std::string_view given, std::string_view secret);
// The role of a bare token.
Role RoleOfToken(const AccessTokens& tokens, std::string_view token);
// The role of an Authorization header, "Bearer <token>".
Role RoleOfAuthorization(const AccessTokens& tokens, std::string_view authorization);

}  // namespace pitwall
