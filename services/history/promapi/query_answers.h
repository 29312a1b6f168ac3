// Handlers for /api/v1/query and /api/v1/query_range.
#pragma once

#include "services/adapters/http/http_server.h"
#include "services/base/clock.h"
#include "services/history/history.h"
#include "services/history/promapi/form.h"
#include "services/history/promapi/prom_routes.h"

namespace pitwall::promapi {

// The caller owns all pointers. Thread-safe.
class QueryAnswers {
 public:
  QueryAnswers(const history::History* history, const Clock* clock, const PromOptions* options)
      : history_(history), clock_(clock), options_(options) {}

  http::HttpResponse Instant(const Form& form) const;
  http::HttpResponse Range(const Form& form) const;

 private:
  struct Asked;  // query parameters of a request
  StatusOr<int64_t> Deadline(const Form& form) const;
  http::HttpResponse Run(const Form& form, const Asked& asked) const;

  const history::History* const history_;
  const Clock* const clock_;
  const PromOptions* const options_;
};

// Converts "query:1:5: error: text" to Prometheus's form, "1:5: parse error: text".
std::string ParseErrorText(std::string_view message);

}  // namespace pitwall::promapi
