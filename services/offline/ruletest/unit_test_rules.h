// Rules of a unit test, as loaded by promtool.
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

// Files that match the pattern, in name order, as in Go's filepath.Glob: `*`, `?`, `[a-z]`, `[^a]`,
// and `\` within one component, and no special treatment of dots. InvalidArgument: malformed
// pattern.
StatusOr<std::vector<std::string>> Glob(const std::string& pattern);

struct TestRules {
  std::vector<RuleSetFile> files;      // without duplicates, in the order of rule_files
  std::vector<std::string> unmatched;  // patterns without a file: promtool warns and continues
};
// Patterns are relative to `folder`. Returns an error for an unreadable file.
StatusOr<TestRules> ReadTestRules(const UnitTestFile& file, const std::string& folder);

struct TestProgram {
  plan::ProgramPtr program;
  // Whether a rule file has Pitwall's own keys, which promtool does not read.
  bool own_keys = false;
};

// The rules for one test. As in promtool, groups on the time clock are evaluated at the file's
// evaluation_interval, regardless of their own, from the start of the test, in the order of
// group_eval_order and of the files. External labels and the URL are substituted into the
// templates.
//
// `watch_all`: selects every series of the time clock, including ALERTS, so that the runner reports
// all recorded samples; a time clock then exists even without rules.
StatusOr<TestProgram> CompileTestRules(const TestRules& rules, const UnitTestFile& file,
                                       const UnitTest& test, bool watch_all,
                                       lang::Diagnostics* diagnostics);

// Substitutes the test's external labels and URL into a template: {{ $externalLabels.x }}, {{
// .ExternalLabels.x }}, {{ $externalURL }}, {{ externalURL }}. The map as a whole stays empty.
std::string WithExternals(const std::string& text, const UnitTest& test);

}  // namespace pitwall::offline
