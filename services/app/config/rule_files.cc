#include "services/app/config/rule_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "rules/plan/baseline.h"
#include "services/app/config/packs.h"
#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"

namespace pitwall {

namespace {

constexpr std::string_view kSuffix = ".yaml";

std::string_view NameOf(const PackText& pack) {
  return pack.file.substr(0, pack.file.size() - kSuffix.size());
}

// Returns the given files, and the *.yaml files in the given directories. The files in a directory
// are sorted by name.
StatusOr<std::vector<std::string>> ListBaselines(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t begin = files.size();
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == kSuffix) files.push_back(entry->path().string());
    }
    if (error) return Internal(Cat(path, ": ", error.message()));
    if (files.size() == begin)
      PITWALL_LOG(kWarning, "rules", path, ": no summaries (*.yaml) of finished jobs yet");
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(begin), files.end());
  }
  return files;
}

StatusOr<std::vector<RuleSetFile>> ReadBaselines(const std::vector<std::string>& paths) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ListBaselines(paths));
  std::vector<RuleSetFile> found;
  std::vector<plan::BaselinePtr> parsed;
  for (const std::string& path : files) {
    ASSIGN_OR_RETURN(std::string text, ReadFile(path));
    lang::Diagnostics later;  // the compiler reports errors in files that are listed explicitly
    const plan::BaselinePtr baseline = plan::ParseBaseline(path, text, &later);
    const bool named = std::find(paths.begin(), paths.end(), path) != paths.end();
    if (later.HasErrors() && !named) {
      PITWALL_LOG(kWarning, "rules",
                  "skipped invalid summary of a finished job: ", ToStd(later.ToStatus().message()));
      continue;
    }
    parsed.push_back(baseline);
    found.push_back({BaseName(path), std::move(text)});
  }
  std::vector<RuleSetFile> kept;
  for (size_t i = 0; i < found.size(); ++i) {
    size_t newer = 0;
    for (size_t k = 0; k < found.size(); ++k) {
      newer += parsed[k]->match == parsed[i]->match &&
               std::pair(parsed[k]->ended, k) > std::pair(parsed[i]->ended, i);
    }
    if (newer < plan::kMaxRunsPerJob) kept.push_back(std::move(found[i]));
  }
  if (kept.size() < found.size()) {
    PITWALL_LOG(kInfo, "rules", "using ", kept.size(), " of ", found.size(),
                " summaries of finished jobs (at most the newest ", plan::kMaxRunsPerJob,
                " per job); ignoring the rest");
  }
  return kept;
}

}  // namespace

std::vector<std::string> PackNames() {
  std::vector<std::string> names;
  for (const PackText& pack : kPacks) names.emplace_back(NameOf(pack));
  return names;
}

StatusOr<RuleSetFile> ShippedPack(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PackText& pack : kPacks) {
    if (NameOf(pack) == name) return RuleSetFile{std::string(pack.file), std::string(pack.text)};
    names.push_back(NameOf(pack));
  }
  return NotFound(Cat("pack ", Quote(name), " not found", DidYouMean(name, names)));
}

StatusOr<RuleSet> ReadRuleSet(const RuleSetPaths& paths, int64_t evaluation_interval_ns,
                              std::vector<lang::Inclusion>* inclusions) {
  RuleSet rules;
  rules.evaluation_interval = Duration::Nanos(evaluation_interval_ns);
  for (const std::string& path : paths.files) {
    if (StartsWith(path, kPackPrefix)) {
      ASSIGN_OR_RETURN(RuleSetFile pack, ShippedPack(path.substr(kPackPrefix.size())));
      rules.files.push_back(std::move(pack));
      continue;
    }
    ASSIGN_OR_RETURN(std::string text, ReadFile(path));
    rules.files.push_back({BaseName(path), std::move(text)});
  }
  if (paths.files.empty()) {
    PITWALL_LOG(kInfo, "rules", "no --rules: using ", kPackPrefix, kDefaultPack,
                ", the built-in default");
    ASSIGN_OR_RETURN(RuleSetFile pack, ShippedPack(kDefaultPack));
    rules.files.push_back(std::move(pack));
  }
  ASSIGN_OR_RETURN(lang::ExpandedFiles expanded,
                   lang::ExpandIncludes(std::move(rules.files), ShippedPack));
  rules.files = std::move(expanded.files);
  if (inclusions != nullptr) *inclusions = std::move(expanded.inclusions);
  if (!paths.overrides.empty()) {
    ASSIGN_OR_RETURN(std::string text, ReadFile(paths.overrides));
    rules.overrides = RuleSetFile{BaseName(paths.overrides), std::move(text)};
  }
  ASSIGN_OR_RETURN(rules.baselines, ReadBaselines(paths.baselines));
  return rules;
}

StatusOr<engine::CompiledRulesPtr> CompileNewRules(const RuleSetPaths& paths,
                                                   int64_t evaluation_interval_ns,
                                                   const plan::CompileOptions& options) {
  ASSIGN_OR_RETURN(RuleSet rules, ReadRuleSet(paths, evaluation_interval_ns));
  return engine::CompiledRules::Accept(std::move(rules), options);
}

}  // namespace pitwall
