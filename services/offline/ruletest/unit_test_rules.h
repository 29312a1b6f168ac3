// The rules of a unit test, as promtool loads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/lang/diagnostic.h"
#include "rules/plan/compile.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"
#include "services/offline/ruletest/unit_test_file.h"

namespace pitwall::offline {

// Files that match the pattern, in the order of names, as Go's filepath.Glob finds them: `*`, `?`,
// `[a-z]`, `[^a]` and `\` within one component, and no dot is special. InvalidArgument: no pattern.
StatusOr<std::vector<std::string>> Glob(const std::string& pattern);

struct TestRules {
  std::vector<RuleSetFile> files;      // each once, in the order of rule_files
  std::vector<std::string> unmatched;  // patterns without a file: promtool warns, and goes on
};
// Patterns are relative to `folder`. An error: a file that cannot be read.
StatusOr<TestRules> ReadTestRules(const UnitTestFile& file, const std::string& folder);

struct TestProgram {
  plan::ProgramPtr program;
  // Some rule file has keys of ours: promtool reads none of them.
  bool own_keys = false;
};

// The rules for one test. As in promtool groups on the time clock are evaluated at the file's
// evaluation_interval, whatever their own, from the start of the test on, in the order of
// group_eval_order and of the files. External labels and URL stand in the templates as texts.
//
// `watch_all`: every series of the time clock is wanted, ALERTS too, so that the runner reports all
// that is recorded; and there is a time clock even without rules.
StatusOr<TestProgram> CompileTestRules(const TestRules& rules, const UnitTestFile& file,
                                       const UnitTest& test, bool watch_all,
                                       lang::Diagnostics* diagnostics);

// A template with the test's external labels and URL written into it: {{ $externalLabels.x }},
// {{ .ExternalLabels.x }}, {{ $externalURL }}, {{ externalURL }}. The map as a whole stays empty.
std::string WithExternals(const std::string& text, const UnitTest& test);

}  // namespace pitwall::offline
