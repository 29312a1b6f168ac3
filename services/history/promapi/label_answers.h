// Handlers for /api/v1/series, /labels, /label/<name>/values, and /metadata.
#pragma once

#include <string_view>

#include "services/adapters/http/http_server.h"
#include "services/base/clock.h"
#include "services/history/history.h"
#include "services/history/promapi/form.h"
#include "services/history/promapi/prom_routes.h"

namespace pitwall::promapi {

// The caller owns all pointers. Thread-safe.
class LabelAnswers {
 public:
  LabelAnswers(const history::History* history, const Clock* clock, const PromOptions* options)
      : history_(history), clock_(clock), options_(options) {}

  http::HttpResponse Series(const Form& form) const;
  http::HttpResponse Names(const Form& form) const;
  // `name` is the path segment. Its U__… escaping is decoded.
  http::HttpResponse Values(std::string_view name, const Form& form) const;

 private:
  const history::History* const history_;
  const Clock* const clock_;
  const PromOptions* const options_;
};

// Returns the metadata of the metrics that Pitwall defines (rules/metrics.yaml).
http::HttpResponse MetadataAnswer(const Form& form);

}  // namespace pitwall::promapi
