#include "services/notifier/routing/routes.h"

#include <algorithm>

namespace pitwall::notifier {
namespace {

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool Routes::Names(std::string_view receiver) const {
  return std::any_of(routes_.begin(), routes_.end(),
                     [&](const Route& route) { return Has(route.receivers, receiver); });
}

bool Routes::Leads(const IssueEvent& event, std::string_view receiver) const {
  if (!Names(receiver)) return true;
  for (const Route& route : routes_) {
    if (!route.matchers.Matches(event)) continue;
    if (Has(route.receivers, receiver)) return true;
    if (!route.continues) return false;
  }
  return false;
}

}  // namespace pitwall::notifier
