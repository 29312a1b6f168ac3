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

// Borrowed pointers must outlive the server.
struct ApiOptions {
  const History* history = nullptr;
  HistoryAdmin* keeper = nullptr;  // null: deleting and archiving are disabled
  const Clock* clock = nullptr;
  AccessTokens tokens;
  std::shared_ptr<http::CookieSessions> sessions;  // null: sessions are disabled
  bool secure_cookies = false;                     // the server speaks TLS
  std::string external_url;                        // prefix of links; "": links are paths
  std::string archive_dir;                         // folder for archives; "": archiving is disabled
  RuleDefinitionSource rules;                      // empty: the loaded rules are unknown
  std::string version;                             // Pitwall version, for reports
  CaptureSource* captures = nullptr;               // null: captures are disabled
  // Appends a request to pitwall.actions, and a request for an interval also to pitwall.control.
  // Empty: requests are disabled.
  std::function<Status(const ActionEvent& request)> request_action;
  // Checks that the loaded rules have this parameter; empty: unknown here.
  std::function<Status(const ParameterChange& change)> check_parameter;
  // Returns the silence of an open issue; empty: unknown here.
  std::function<std::optional<SilencedIssue>(const IssueEvent& event)> silenced;
};

// Thread-safe handlers.
std::vector<http::HttpRoute> Routes(const ApiOptions& options);

// Routes and roles, for the test of the OpenAPI file.
struct RouteRule {
  std::string_view method;
  std::string_view path;  // without the prefix
  std::vector<ParameterRule> parameters;
};
std::vector<RouteRule> RouteRules();

}  // namespace pitwall::history
