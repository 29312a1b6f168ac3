#include "services/history/promapi/prom_routes.h"

#include <functional>
#include <memory>
#include <utility>

#include "services/base/text/strings.h"
#include "services/history/promapi/form.h"
#include "services/history/promapi/label_answers.h"
#include "services/history/promapi/query_answers.h"
#include "services/history/promapi/response.h"
#include "services/history/promapi/rule_answers.h"

namespace pitwall::promapi {
namespace {

using http::HttpRequest;
using http::HttpResponse;

// State that all handlers share and keep alive.
struct Api {
  Api(const history::History* history, const Clock* clock, RuleGroupSource groups,
      PromOptions given)
      : options(std::move(given)),
        query(history, clock, &options),
        label(history, clock, &options),
        rule(history, std::move(groups), &options) {}

  const PromOptions options;
  const QueryAnswers query;
  const LabelAnswers label;
  const RuleAnswers rule;
};

// Grafana selects features by the Prometheus version that the server reports.
HttpResponse BuildInfo(const PromOptions& options) {
  std::string data = "{\"version\":";
  AppendText(Cat("3.14.0+pitwall-", options.version), &data);
  data += R"(,"revision":"","branch":"","buildUser":"pitwall","buildDate":"","goVersion":""})";
  return DataAnswer(data);
}

constexpr std::string_view kLabelPrefix = "/api/v1/label/";
constexpr std::string_view kValuesSuffix = "/values";

}  // namespace

std::vector<http::HttpRoute> PromRoutes(const history::History* history, const Clock* clock,
                                        RuleGroupSource rules, PromOptions options) {
  const auto api =
      std::make_shared<const Api>(history, clock, std::move(rules), std::move(options));
  std::vector<http::HttpRoute> routes;
  // Adds a route with a handler that receives the parsed parameters.
  const auto add = [&](std::string path, bool post,
                       const std::function<HttpResponse(const Api&, const Form&)>& answer) {
    const http::HttpHandler handler = [api, answer](const HttpRequest& request) {
      const StatusOr<Form> form = Form::Of(request);
      if (!form.ok()) return ErrorAnswer(ErrorType::kBadData, ToStd(form.status().message()));
      return answer(*api, *form);
    };
    routes.push_back({.method = "GET", .path = path, .handler = handler});
    if (post) routes.push_back({.method = "POST", .path = std::move(path), .handler = handler});
  };
  add("/api/v1/query", true, [](const Api& a, const Form& form) { return a.query.Instant(form); });
  add("/api/v1/query_range", true,
      [](const Api& a, const Form& form) { return a.query.Range(form); });
  add("/api/v1/series", true, [](const Api& a, const Form& form) { return a.label.Series(form); });
  add("/api/v1/labels", true, [](const Api& a, const Form& form) { return a.label.Names(form); });
  add("/api/v1/metadata", false, [](const Api&, const Form& form) { return MetadataAnswer(form); });
  add("/api/v1/rules", false, [](const Api& a, const Form& form) { return a.rule.Rules(form); });
  add("/api/v1/alerts", false, [](const Api& a, const Form&) { return a.rule.Alerts(); });
  add("/api/v1/status/buildinfo", false,
      [](const Api& a, const Form&) { return BuildInfo(a.options); });
  // The history does not store exemplars.
  add("/api/v1/query_exemplars", true, [](const Api&, const Form&) { return DataAnswer("[]"); });
  routes.push_back({.method = "GET",
                    .path = Cat(kLabelPrefix, "*"),
                    .handler = [api](const HttpRequest& request) {
                      const std::string_view path = request.path;
                      if (!StartsWith(path, kLabelPrefix) || !EndsWith(path, kValuesSuffix) ||
                          path.size() <= kLabelPrefix.size() + kValuesSuffix.size()) {
                        return ErrorAnswer(ErrorType::kNotFound,
                                           Cat("path not found (got ", path,
                                               "); use /api/v1/label/<name>/values"));
                      }
                      const StatusOr<Form> form = Form::Of(request);
                      if (!form.ok())
                        return ErrorAnswer(ErrorType::kBadData, ToStd(form.status().message()));
                      return api->label.Values(
                          path.substr(kLabelPrefix.size(),
                                      path.size() - kLabelPrefix.size() - kValuesSuffix.size()),
                          *form);
                    }});
  return routes;
}

}  // namespace pitwall::promapi
