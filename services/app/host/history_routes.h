// HTTP routes for the history: the web page, the API, and the Prometheus query API.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/adapters/http/cookie_sessions.h"
#include "services/adapters/http/http_server.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/access.h"
#include "services/engine/program/compiled_rules.h"
#include "services/history/ingest/history_service.h"
#include "services/io/capture_source.h"
#include "services/model/issues/silenced_issue.h"

namespace pitwall {

// Holder of the active rule set. Thread-safe.
class RulesInForce {
 public:
  void Set(engine::CompiledRulesPtr rules) {
    const MutexLock lock(&mutex_);
    rules_ = std::move(rules);
  }
  // Returns null before the first Set.
  engine::CompiledRulesPtr Get() const {
    const MutexLock lock(&mutex_);
    return rules_;
  }

 private:
  mutable Mutex mutex_;
  engine::CompiledRulesPtr rules_ ABSL_GUARDED_BY(mutex_);
};

// All pointers must outlive the server.
struct HistoryRoutesOptions {
  history::HistoryService* keep = nullptr;
  const history::History* history = nullptr;  // if null, uses the history of `keep`
  const Clock* clock = nullptr;
  std::function<engine::CompiledRulesPtr()> rules;  // active rule set; null if unknown
  AccessTokens tokens;
  std::shared_ptr<http::CookieSessions> sessions;
  bool tls = false;
  std::string external_url;
  std::string archive_dir;
  std::string version;
  CaptureSource* captures = nullptr;  // null if this process does not run a notifier
  std::function<Status(const ActionEvent& request)> request_action;
  std::function<std::optional<SilencedIssue>(const IssueEvent& event)> silenced;
};

std::vector<http::HttpRoute> HistoryRoutes(const HistoryRoutesOptions& options);

}  // namespace pitwall
