// /api/v1/rules and /api/v1/alerts: what the history says of the rules on all jobs.
#pragma once

#include "services/adapters/http/http_server.h"
#include "services/insights/history.h"
#include "services/insights/promapi/form.h"
#include "services/insights/promapi/prom_routes.h"
#include "services/insights/promapi/rule_groups.h"

namespace pitwall::promapi {

// Borrows all; thread-safe. An open issue is a firing alert. Pending ones are no events of the log,
// so the history knows none.
class RuleAnswers {
 public:
  RuleAnswers(const insights::History* history, RuleGroupSource rules, const PromOptions* options)
      : history_(history), rules_(std::move(rules)), options_(options) {}

  http::HttpResponse Rules(const Form& form) const;
  http::HttpResponse Alerts() const;

 private:
  struct Known;  // of all jobs
  StatusOr<Known> Read() const;

  const insights::History* const history_;
  const RuleGroupSource rules_;
  const PromOptions* const options_;
};

}  // namespace pitwall::promapi
