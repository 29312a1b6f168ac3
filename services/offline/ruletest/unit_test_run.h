// Run of one unit test through the streaming engine.
#pragma once

#include "services/base/status.h"
#include "services/offline/ruletest/unit_test_file.h"
#include "services/offline/ruletest/unit_test_rules.h"

namespace pitwall::offline {

struct Tally {
  int passed = 0;
  int failed = 0;
};

// Runs the test over `rules`, which were compiled for it (with watch_all, if it has expressions).
// Counts its cases and prints the failed ones. A rule that fails at some tick is a failure that
// ends the test, as in promtool. Returns an error if the test cannot run.
Status RunUnitTest(const UnitTestFile& file, const UnitTest& test, const TestProgram& rules,
                   Tally* tally);

}  // namespace pitwall::offline
