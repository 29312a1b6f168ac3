// Handlers for /api/v1/rules and /api/v1/alerts, which return rule states across all jobs in the
// history.
#pragma once

#include "services/adapters/http/http_server.h"
#include "services/history/history.h"
#include "services/history/promapi/form.h"
#include "services/history/promapi/prom_routes.h"
#include "services/history/promapi/rule_groups.h"

namespace pitwall::promapi {

// The caller owns all pointers. Thread-safe. An open issue is a firing alert. Pending elements have
// no events in the log, so the pending alerts are derived from statuses.
class RuleAnswers {
 public:
  RuleAnswers(const history::History* history, RuleGroupSource rules, const PromOptions* options)
      : history_(history), rules_(std::move(rules)), options_(options) {}

  http::HttpResponse Rules(const Form& form) const;
  http::HttpResponse Alerts() const;

 private:
  struct Known;  // rule states over all jobs
  StatusOr<Known> Read() const;

  const history::History* const history_;
  const RuleGroupSource rules_;
  const PromOptions* const options_;
};

}  // namespace pitwall::promapi
