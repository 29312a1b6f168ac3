// Routing of issues to receivers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/notifier/routing/issue_matchers.h"

namespace pitwall::notifier {

struct Route {
  IssueMatchers matchers;
  std::vector<std::string> receivers;
  bool continues = false;  // `continue`: if true, the following routes are also tried
};

// Immutable and thread-safe. Routes are tried in order until a route without `continue` matches. A
// receiver that does not appear in any route gets all issues.
class Routes {
 public:
  Routes() = default;
  explicit Routes(std::vector<Route> routes) : routes_(std::move(routes)) {}
  bool Leads(const IssueEvent& event, std::string_view receiver) const;

 private:
  bool Names(std::string_view receiver) const;
  std::vector<Route> routes_;
};

}  // namespace pitwall::notifier
