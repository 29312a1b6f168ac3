// Runner for one unit test on the streaming engine.
#pragma once

#include "services/base/status.h"
#include "services/offline/ruletest/unit_test_file.h"
#include "services/offline/ruletest/unit_test_rules.h"

namespace pitwall::offline {

struct Tally {
  int passed = 0;
  int failed = 0;
};

// Runs the test with `rules`, which must have been compiled for this test (with watch_all if the
// test has expressions). Counts the test cases and prints the failed ones. As in promtool, a rule
// that fails at some tick counts as a failure and aborts the test. Returns an error if the test
// cannot run.
Status RunUnitTest(const UnitTestFile& file, const UnitTest& test, const TestProgram& rules,
                   Tally* tally);

}  // namespace pitwall::offline
