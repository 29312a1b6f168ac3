// Strict reader for request parameters. An unknown, repeated, or malformed parameter is rejected
// with an error that contains its name, the cause, and the accepted values.
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

// Parameter that a route accepts.
struct ParameterRule {
  std::string name;
  bool required = false;
  bool repeatable = false;
};

// Keeps the first error. Reads after an error return defaults, so callers read all parameters and
// then check status(). Not thread-safe. Must not outlive the request.
class Parameters {
 public:
  Parameters(const http::HttpRequest& request, std::span<const ParameterRule> rules);

  bool Has(std::string_view name) const;
  std::string_view Text(std::string_view name) const;  // returns "" if absent
  std::vector<std::string_view> Texts(std::string_view name) const;
  // Returns the index of the parameter's value in `choices`. The first choice is the default.
  size_t Choice(std::string_view name, std::span<const std::string_view> choices);
  int64_t Int(std::string_view name, int64_t fallback, int64_t least, int64_t most);
  std::vector<int64_t> Ints(std::string_view name, int64_t least, int64_t most);
  // Reads `from` and `to`. An absent parameter defaults to the corresponding bound of `whole`.
  TimeRange Range(TimeRange whole);
  // Reads a point in time. Returns `fallback` if the parameter is absent.
  int64_t Moment(std::string_view name, int64_t fallback);
  // Reads from_step and to_step.
  void Steps(int64_t* from_step, int64_t* to_step);
  // Reads the selectors, in PromQL syntax, from `match`.
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

// One page of a list with `total` rows: rows [begin, end).
struct Page {
  size_t begin = 0;
  size_t end = 0;
  std::string next;  // token of the next page; "" on the last page
  // Returns the rows of the page. `all` must have `total` rows.
  template <typename Row>
  std::span<const Row> Of(const std::vector<Row>& all) const {
    return std::span(all).subspan(begin, end - begin);
  }
};
// Values of the `limit` and `page` parameters.
struct PageRequest {
  size_t limit = 0;
  size_t begin = 0;
  Page Of(size_t total) const;
};
PageRequest ReadPage(Parameters* parameters, int64_t usual, int64_t most);

}  // namespace pitwall::history
