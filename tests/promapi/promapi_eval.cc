// The query API over given samples, driven by lines on standard input. tests/promapi compares its
// responses with the responses from a real Prometheus. Fields are separated by tabs, as in
// tests/differential/line_protocol.h.
//
//   series<TAB>N         followed by N lines of series, whose label pitwall_job is the job: the
//     samples of the requests that follow
//   METHOD<TAB>TARGET<TAB>BODY   a request; BODY is a form
//
// The response to each request is a line "CODE<TAB>JSON".
#include <iostream>
#include <memory>
#include <string>

#include "services/base/text/strings.h"
#include "services/history/promapi/testing/prom_api_fixture.h"
#include "tests/differential/line_protocol.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall {
namespace {

int Main() {
  std::ios::sync_with_stdio(false);
  const fakes::FakeClock clock;
  std::unique_ptr<promapi::HistoryForTest> history;
  std::unique_ptr<promapi::ApiForTest> api;
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string> fields = differential::Fields(line);
    if (fields[0] == "series" && fields.size() == 2) {
      history = std::make_unique<promapi::HistoryForTest>();
      api = std::make_unique<promapi::ApiForTest>(history.get(), &clock);
      for (int64_t n = differential::Number(fields[1]); n > 0; --n) {
        const offline::QuerySeries series =
            differential::ParseSeries(differential::ReadLine("promapi_eval"));
        history::SampleColumn column;
        column.labels = series.labels.With(promapi::kJobLabel, "");
        for (const auto& [position, value] : series.samples) {
          column.times.push_back(position);
          column.values.push_back(value);
        }
        history->AddSeries(std::string(series.labels.Get(promapi::kJobLabel)), std::move(column));
      }
    } else if (fields.size() == 3 && api != nullptr) {
      const http::HttpResponse response = api->Send(fields[0], fields[1], fields[2]);
      std::cout << response.status << '\t' << response.body << std::endl;
    } else {
      std::cerr << "promapi_eval: unknown request: " << line << "\n";
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace pitwall

int main() { return pitwall::Main(); }
