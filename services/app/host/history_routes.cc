#include "services/app/host/history_routes.h"

#include <utility>

#include "rules/plan/program/parameter_owner.h"
#include "services/app/host/rule_definitions.h"
#include "services/history/api/api_routes.h"
#include "services/history/promapi/prom_routes.h"
#include "services/web/page_routes.h"

namespace pitwall {

std::vector<http::HttpRoute> HistoryRoutes(const HistoryRoutesOptions& options) {
  const auto definitions =
      [source = options.rules](const history::JobOverview& job) -> history::RuleDefinitions {
    const engine::CompiledRulesPtr in_force = source();
    return in_force == nullptr ? history::RuleDefinitions()
                               : RuleDefinitionsOf(*in_force->program(), job.id, job.name);
  };
  // If this process does not have the rules, only the processor validates the request.
  const auto check_parameter = [source = options.rules](const ParameterChange& change) -> Status {
    const engine::CompiledRulesPtr in_force = source();
    if (in_force == nullptr) return OkStatus();
    return plan::MatchingNumbers(*in_force->program(), change.rule, change.name).status();
  };
  const history::History* history =
      options.history != nullptr ? options.history : &options.keep->history();
  std::vector<http::HttpRoute> routes = history::Routes({.history = history,
                                                         .keeper = options.keep,
                                                         .clock = options.clock,
                                                         .tokens = options.tokens,
                                                         .sessions = options.sessions,
                                                         .secure_cookies = options.tls,
                                                         .external_url = options.external_url,
                                                         .archive_dir = options.archive_dir,
                                                         .rules = definitions,
                                                         .version = options.version,
                                                         .captures = options.captures,
                                                         .request_action = options.request_action,
                                                         .check_parameter = check_parameter,
                                                         .silenced = options.silenced});
  promapi::PromOptions queries;
  queries.version = options.version;
  const auto rules = [source = options.rules]() -> std::vector<promapi::RuleGroupInfo> {
    const engine::CompiledRulesPtr in_force = source();
    if (in_force == nullptr) return {};
    return promapi::RuleGroupsOf(in_force->text());
  };
  for (http::HttpRoute& route : promapi::PromRoutes(history, options.clock, rules, queries))
    routes.push_back(std::move(route));
  for (http::HttpRoute& route : history::PageRoutes()) routes.push_back(std::move(route));
  return routes;
}

}  // namespace pitwall
