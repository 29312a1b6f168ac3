#include "services/offline/ruletest/rule_unit_tests.h"

#include <utility>

#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/format.h"
#include "services/offline/ruletest/unit_test_expand.h"
#include "services/offline/ruletest/unit_test_file.h"
#include "services/offline/ruletest/unit_test_rules.h"
#include "services/offline/ruletest/unit_test_run.h"

namespace pitwall::offline {

namespace {

// Runs the tests of one file. Rules that cannot run count as a test failure. Returns an error only
// if the input is unreadable.
Status RunFile(const std::string& path, const lang::PackSource& packs, Tally* tally) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(const UnitTestFile file, ParseUnitTestFile(path, text));
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  StatusOr<TestRules> read = ReadTestRules(file, folder);
  RETURN_IF_ERROR(Annotate(read.status(), Cat(path, ": rule_files")));
  TestRules& rules = *read;
  auto expanded = lang::ExpandIncludes(std::move(rules.files), packs);
  RETURN_IF_ERROR(Annotate(expanded.status(), Cat(path, ": rule_files")));
  rules.files = std::move(expanded->files);
  for (const std::string& pattern : rules.unmatched) {
    PrintError(Cat(path, ": warning: no file matches ", Quote(pattern), "\n"));
  }
  if (file.tests.empty()) PrintError(Cat(path, ": warning: file does not contain a test\n"));
  for (const UnitTest& test : file.tests) {
    const bool watched = !test.step && !test.exprs.empty();
    lang::Diagnostics diagnostics;
    const auto program = CompileTestRules(rules, file, test, watched, &diagnostics);
    if (!program.ok()) {
      // The remaining tests use the same rules and would fail as well, so they are skipped.
      const std::string why = diagnostics.HasErrors()
                                  ? diagnostics.ToString()
                                  : Cat(ToStd(program.status().message()), "\n");
      PrintError(Cat(path, ": rules cannot run:\n", why));
      ++tally->failed;
      return OkStatus();
    }
    RETURN_IF_ERROR(RunUnitTest(file, test, *program, tally));
  }
  return OkStatus();
}

}  // namespace

StatusOr<int> RunRuleTests(const std::vector<std::string>& files, const lang::PackSource& packs) {
  if (files.empty()) return InvalidArgument("no test file given; specify at least one FILE");
  Tally tally;
  bool readable = true;
  for (const std::string& path : files) {
    const Status status = RunFile(path, packs, &tally);
    if (status.ok()) continue;
    PrintError(Cat(ToStd(status.message()), "\n"));
    readable = false;
  }
  Print(Cat(tally.passed, " passed, ", tally.failed, " failed\n"));
  return !readable ? 2 : tally.failed == 0 ? 0 : 1;
}

StatusOr<int> PrintExpandedTests(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    RETURN_IF_ERROR(ParseUnitTestFile(path, text).status());
    ASSIGN_OR_RETURN(const yaml::Node root, yaml::ParseYaml(path, text));
    std::vector<yaml::Problem> problems;
    Print(Cat("---\n", yaml::FormatYaml(ExpandUnitTests(root, &problems))));
  }
  return 0;
}

}  // namespace pitwall::offline
