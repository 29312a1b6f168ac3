// The HTTP API of the history: docs/api.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/http/cookie_sessions.h"
#include "services/adapters/http/http_server.h"
#include "services/base/clock.h"
#include "services/base/system/access.h"
#include "services/history/api/parameters.h"
#include "services/history/history.h"
#include "services/history/views/rule_definition.h"
#include "services/io/capture_source.h"
#include "services/model/issues/action.h"
#include "services/model/issues/silenced_issue.h"

namespace pitwall::history {

inline constexpr std::string_view kApiPrefix = "/api/pitwall/v1";

// Borrowed pointers outlive the server.
struct ApiOptions {
  const History* history = nullptr;
  HistoryAdmin* keeper = nullptr;  // null: nothing can be deleted or archived here
  const Clock* clock = nullptr;
  AccessTokens tokens;
  std::shared_ptr<http::CookieSessions> sessions;  // null: no sessions
  bool secure_cookies = false;                     // the server speaks TLS
  std::string external_url;                        // before links; "": links are paths
  std::string archive_dir;                         // folder of archives; "": no archiving
  RuleDefinitionSource rules;                      // empty: the rules in force are not known
  std::string version;                             // of Pitwall, for reports
  CaptureSource* captures = nullptr;               // null: captures cannot be asked for here
  // Puts a request into pitwall.actions, one for an interval into pitwall.control too; empty:
  // neither can be asked for here.
  std::function<Status(const ActionEvent& request)> request_action;
  // Whether the rules in force have such a parameter; empty: not known here.
  std::function<Status(const ParameterChange& change)> check_parameter;
  // Whether an open issue is silenced now; empty: not known here.
  std::function<std::optional<SilencedIssue>(const IssueEvent& event)> silenced;
};

// Thread-safe handlers.
std::vector<http::HttpRoute> Routes(const ApiOptions& options);

// What the routes are, for the test of the OpenAPI file.
struct RouteRule {
  std::string_view method;
  std::string_view path;  // behind the prefix
  std::vector<ParameterRule> parameters;
};
std::vector<RouteRule> RouteRules();

}  // namespace pitwall::history
