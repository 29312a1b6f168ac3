// Each golden script is a test. All of its evals must pass, and all of them must be supported.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "services/base/text/strings.h"
#include "services/offline/promqltest/golden_run.h"

namespace pitwall::offline {
namespace {

std::vector<std::string> Names() {
  std::vector<std::string> names;
  // own/: functions that do not exist in Prometheus.
  for (const std::string folder : {"", "own/"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(Cat(PITWALL_GOLDEN_SCRIPTS, "/", folder))) {
      if (entry.path().extension() == ".test")
        names.push_back(Cat(folder, entry.path().stem().string()));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class GoldenScripts : public testing::TestWithParam<std::string> {};

TEST_P(GoldenScripts, Pass) {
  const std::string name = GetParam() + ".test";
  std::ifstream in(std::string(PITWALL_GOLDEN_SCRIPTS) + "/" + name, std::ios::binary);
  ASSERT_TRUE(in) << name;
  const std::string text(std::istreambuf_iterator<char>(in), {});
  int64_t evals = 0;
  const Status status =
      RunGoldenScript(name, text, [&](const GoldenCommand& command, const EvalOutcome& outcome) {
        ++evals;
        if (outcome.verdict == Verdict::kPassed) return;
        ADD_FAILURE() << name << ":" << command.line << ": "
                      << std::get<EvalCommand>(command.what).expr << ": "
                      << (outcome.verdict == Verdict::kUnsupported ? "unsupported: " : "")
                      << outcome.why << "\nexpected: " << Join(outcome.expected, "\n          ")
                      << "\ngot:      " << Join(outcome.got, "\n          ");
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(evals, 0);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenScripts, testing::ValuesIn(Names()), [](const auto& script) {
  std::string name = script.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

}  // namespace
}  // namespace pitwall::offline
