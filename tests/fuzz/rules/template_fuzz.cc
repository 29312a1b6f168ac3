// Fuzzes a template that is expanded for fixed labels, parameters, and values. Either it parses or
// the error has a position. A parsed template yields text of bounded length, in bounded time,
// deterministically.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/templates/template.h"
#include "services/base/check.h"

namespace {

// Every query has the same result, except that the query for one ID fails.
class Queries final : public pitwall::templates::TemplateQueries {
 public:
  using Samples = std::vector<pitwall::templates::QuerySample>;
  pitwall::StatusOr<std::shared_ptr<const Samples>> Run(uint32_t id) override {
    if (id == 3) return pitwall::InvalidArgument("no such data");
    return samples_;
  }

 private:
  const std::shared_ptr<const Samples> samples_ = std::make_shared<const Samples>(Samples{
      {pitwall::Labels::FromPairs({{"__name__", "up"}, {"gpu", "3"}, {"node", "b"}}), 2.5},
      {pitwall::Labels::FromPairs({{"__name__", "up"}, {"gpu", "0"}, {"__value__", "x"}}), -0.0},
      {pitwall::Labels(), std::numeric_limits<double>::infinity()}});
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pitwall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const StatusOr<templates::Template> parsed = templates::Template::Parse("fuzz", text);
  if (!parsed.ok()) {
    PITWALL_CHECK(!parsed.status().message().empty());
    return 0;
  }
  const Labels labels = Labels::FromPairs(
      {{"__name__", "up"}, {"gpu", "3"}, {"node", "n7.example.com:9100"}, {"odd", "a\"<&>\x80\n"}});
  const std::vector<std::pair<std::string, double>> params = {{"threshold", 10}, {"share", 0.5}};
  Queries queries;
  templates::TemplateInput input;
  input.queries = &queries;
  input.labels = &labels;
  input.params = params;
  input.time_ns = 1'700'000'000'250'000'000;
  std::string first;
  for (const double value : {93.25, -0.0, std::numeric_limits<double>::quiet_NaN(), 1e300}) {
    input.value = value;
    input.step = value > 0 ? 41 : kNoStep;
    const std::string out = parsed->Expand(input);
    PITWALL_CHECK(out.size() <= 256 * 1024);  // the limit plus one string
    PITWALL_CHECK(parsed->Expand(input) == out);
    if (first.empty()) first = out;
    // A template that does not read the value is not re-expanded when the value changes.
    if (!parsed->varies()) PITWALL_CHECK(out == first);
  }
  return 0;
}
