// Access roles: view reads data, and act also makes changes. Each role has its own token.
#pragma once

#include <string>
#include <string_view>

namespace pitwall {

enum class Role { kNone, kView, kAct };  // in increasing order of permissions

struct AccessTokens {
  std::string view;  // an empty token disables the role
  std::string act;
  bool empty() const { return view.empty() && act.empty(); }
};

// Compares two strings in time that depends only on the length of the secret.
bool SameSecret(std::string_view given, std::string_view secret);
// Returns the role that a token grants.
Role RoleOfToken(const AccessTokens& tokens, std::string_view token);
// Returns the role that an Authorization header of the form "Bearer <token>" grants.
Role RoleOfAuthorization(const AccessTokens& tokens, std::string_view authorization);

}  // namespace pitwall
