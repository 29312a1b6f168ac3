// Parameters of a request, read strictly: what a route does not name, what is given twice or
// malformed is an error with place, cause and way out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

// One parameter that a route has.
struct ParameterRule {
  std::string_view name;
  bool required = false;
  bool repeatable = false;
};

// The first fault is kept and later reads give defaults: read everything, then ask status(). Not
// thread-safe; must not outlive the request.
class Parameters {
 public:
  Parameters(const http::HttpRequest& request, std::span<const ParameterRule> rules);

  bool Has(std::string_view name) const;
  std::string_view Text(std::string_view name) const;  // "" when absent
  std::vector<std::string_view> Texts(std::string_view name) const;
  // One of the choices, of which the first is the default.
  size_t Choice(std::string_view name, std::span<const std::string_view> choices);
  int64_t Int(std::string_view name, int64_t fallback, int64_t least, int64_t most);
  std::vector<int64_t> Ints(std::string_view name, int64_t least, int64_t most);
  // from and to; the defaults where they are absent.
  TimeRange Range(TimeRange whole);
  // A point in time; the fallback where it is absent.
  int64_t Moment(std::string_view name, int64_t fallback);
  // from_step and to_step.
  void Steps(int64_t* from_step, int64_t* to_step);
  // match: selectors as PromQL writes them.
  std::vector<Selector> Selectors();

  void Fail(const Status& fault);
  const Status& status() const { return status_; }

 private:
  std::optional<int64_t> Time(std::string_view name);
  const ParameterRule& RuleOf(std::string_view name) const;

  const http::HttpRequest& request_;
  const std::span<const ParameterRule> rules_;
  Status status_;
};

// A page of a list: the rows [begin, end) of `total`.
struct Page {
  size_t begin = 0;
  size_t end = 0;
  std::string next;  // "": that was all
};
// Parameters limit and page.
struct PageRequest {
  size_t limit = 0;
  size_t begin = 0;
  Page Of(size_t total) const;
};
PageRequest ReadPage(Parameters* parameters, int64_t usual, int64_t most);

}  // namespace pitwall::history
