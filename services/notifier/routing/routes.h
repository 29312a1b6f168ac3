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
  bool continues = false;  // `continue`: also tries the following routes
};

// Immutable and thread-safe. Routes are tried in order, up to the first match without `continue`. A
// receiver that is not in any route gets all issues.
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
