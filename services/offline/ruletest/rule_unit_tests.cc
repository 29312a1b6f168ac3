#include "services/offline/ruletest/rule_unit_tests.h"

#include <utility>

#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/offline/ruletest/rule_test_rules.h"
#include "services/offline/ruletest/rule_test_run.h"
#include "services/offline/ruletest/unit_test_file.h"

namespace pitwall::offline {

namespace {

// Rules that cannot run are a failure of their own; an error is input that cannot be read.
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
    std::fprintf(stderr, "%s: warning: no file matches %s\n", path.c_str(), Quote(pattern).c_str());
  }
  if (file.tests.empty())
    std::fprintf(stderr, "%s: warning: there is no test in it\n", path.c_str());
  for (const UnitTest& test : file.tests) {
    const bool watched = !test.step && !test.exprs.empty();
    lang::Diagnostics diagnostics;
    const auto program = CompileTestRules(rules, file, test, watched, &diagnostics);
    if (!program.ok()) {
      // The next test has the same rules.
      const std::string why = diagnostics.HasErrors()
                                  ? diagnostics.ToString()
                                  : Cat(ToStd(program.status().message()), "\n");
      std::fprintf(stderr, "%s: its rules cannot run:\n%s", path.c_str(), why.c_str());
      ++tally->failed;
      return OkStatus();
    }
    RETURN_IF_ERROR(RunUnitTest(file, test, *program, tally));
  }
  return OkStatus();
}

}  // namespace

StatusOr<int> RunRuleTests(const std::vector<std::string>& files, const lang::PackSource& packs) {
  if (files.empty()) return InvalidArgument("rules test needs at least one test file");
  Tally tally;
  bool readable = true;
  for (const std::string& path : files) {
    const Status status = RunFile(path, packs, &tally);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s\n", std::string(ToStd(status.message())).c_str());
    readable = false;
  }
  Print(Cat(tally.passed, " passed, ", tally.failed, " failed\n"));
  return !readable ? 2 : tally.failed == 0 ? 0 : 1;
}

}  // namespace pitwall::offline
