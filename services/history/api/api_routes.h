// Routes of the history's HTTP API (docs/api.md).
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
#include "services/base/status.h"
#include "services/base/system/access.h"
#include "services/history/history.h"
#include "services/history/views/rule_definition.h"
#include "services/io/capture_source.h"
#include "services/model/issues/action.h"
#include "services/model/issues/silenced_issue.h"

namespace pitwall::history {

inline constexpr std::string_view kApiPrefix = "/api/pitwall/v1";

// API options. The caller owns the objects behind the pointers, which must outlive the server.
struct ApiOptions {
  const History* history = nullptr;
  HistoryAdmin* keeper = nullptr;  // if null, deletion and archiving are disabled
  const Clock* clock = nullptr;
  AccessTokens tokens;
  std::shared_ptr<http::CookieSessions> sessions;  // if null, sessions are disabled
  bool secure_cookies = false;                     // true if the server uses TLS
  std::string external_url;                        // prefix of links; if empty, links are paths
  std::string archive_dir;            // folder for archives; if empty, archiving is disabled
  RuleDefinitionSource rules;         // if empty, the loaded rules are unknown
  std::string version;                // Pitwall version, shown in reports
  CaptureSource* captures = nullptr;  // if null, captures are disabled
  // Appends a request to pitwall.actions. A request to change an interval is also appended to
  // pitwall.control. If the function is empty, action requests are disabled.
  std::function<Status(const ActionEvent& request)> request_action;
  // Checks that the loaded rules have the given parameter. If the function is empty, parameters are
  // not checked.
  std::function<Status(const ParameterChange& change)> check_parameter;
  // Returns the silence that applies to an open issue. If the function is empty, silences are
  // unknown.
  std::function<std::optional<SilencedIssue>(const IssueEvent& event)> silenced;
};

// Returns the routes. The handlers are thread-safe.
std::vector<http::HttpRoute> Routes(const ApiOptions& options);

// Returns an error that names each route without an operation in openapi.yaml and each operation
// without a route. Routes() aborts in this case.
Status CheckRoutes();

}  // namespace pitwall::history
