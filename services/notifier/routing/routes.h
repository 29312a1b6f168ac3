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
  bool goes_on = false;  // `continue`: the routes after it are asked, too
};

// Immutable, thread-safe. Routes are asked in their order up to the first that matches and does not
// go on. A receiver that no route names hears of everything.
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
