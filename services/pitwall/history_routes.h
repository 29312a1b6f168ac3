// HTTP routes of the history: the page, our API, and Prometheus' queries.
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

// The rules in force, for those who show them. Thread-safe.
class RulesInForce {
 public:
  void Set(engine::CompiledRulesPtr rules) {
    const MutexLock lock(&mutex_);
    rules_ = std::move(rules);
  }
  // Null: nothing is set yet.
  engine::CompiledRulesPtr Get() const {
    const MutexLock lock(&mutex_);
    return rules_;
  }

 private:
  mutable Mutex mutex_;
  engine::CompiledRulesPtr rules_ ABSL_GUARDED_BY(mutex_);
};

// Borrowed pointers outlive the server.
struct HistoryRoutesOptions {
  history::HistoryService* keep = nullptr;
  const history::History* history = nullptr;  // null: what is kept here
  const Clock* clock = nullptr;
  std::function<engine::CompiledRulesPtr()> rules;  // in force; null where nobody knows them
  AccessTokens tokens;
  std::shared_ptr<http::CookieSessions> sessions;
  bool tls = false;
  std::string external_url;
  std::string archive_dir;
  std::string version;
  CaptureSource* captures = nullptr;  // null: this process runs no notifier
  std::function<Status(const ActionEvent& request)> request_action;
  std::function<std::optional<SilencedIssue>(const IssueEvent& event)> silenced;
};

std::vector<http::HttpRoute> HistoryRoutes(const HistoryRoutesOptions& options);

}  // namespace pitwall
