// Rules for a unit test, loaded as in promtool.
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

// Returns the files that match the pattern, sorted by name, like Go's filepath.Glob: `*`, `?`,
// `[a-z]`, `[^a]`, and `\` match within one path component, and dots are not special. Returns
// InvalidArgument if the pattern is malformed.
StatusOr<std::vector<std::string>> Glob(const std::string& pattern);

struct TestRules {
  std::vector<RuleSetFile> files;  // in rule_files order, without duplicates
  // Patterns that do not match any file. As in promtool, they only cause a warning.
  std::vector<std::string> unmatched;
};
// Reads the rule files. Patterns are relative to `folder`. Returns an error if a file cannot be
// read.
StatusOr<TestRules> ReadTestRules(const UnitTestFile& file, const std::string& folder);

struct TestProgram {
  plan::ProgramPtr program;
  // True if a rule file contains Pitwall-specific keys, which promtool cannot read.
  bool own_keys = false;
};

// Compiles the rules for one test. As in promtool, groups on the time clock are evaluated at the
// file's evaluation_interval, regardless of their own intervals. Evaluation starts at the start of
// the test, in the order given by group_eval_order and by the files. The test's external labels and
// URL are substituted into the templates.
//
// If `watch_all` is true, the rules select every series on the time clock, including ALERTS, so
// that the runner reports all recorded samples. A time clock is created even if there are no rules.
StatusOr<TestProgram> CompileTestRules(const TestRules& rules, const UnitTestFile& file,
                                       const UnitTest& test, bool watch_all,
                                       lang::Diagnostics* diagnostics);

// Substitutes the test's external labels and URL into a template: {{ $externalLabels.x }}, {{
// .ExternalLabels.x }}, {{ $externalURL }}, and {{ externalURL }}. The external label map itself
// remains empty.
std::string WithExternals(const std::string& text, const UnitTest& test);

}  // namespace pitwall::offline
