#include "rules/plan/program/job_match.h"

#include <algorithm>

#include "services/base/text/glob.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {
constexpr std::string_view kJobKey = "job";
}  // namespace

JobMatch JobMatch::Parse(yaml::StrictMap* map, std::string_view what) {
  JobMatch match;
  for (const auto& [label, glob] : map->Scalars("match"))
    match.globs_.emplace_back(label, glob->scalar());
  if (match.globs_.empty()) {
    map->Add(map->KeyPosition("match"), Cat(what, " needs \"match\": job, or labels of the job"));
  }
  return match;
}

bool JobMatch::Matches(std::string_view job_id, std::string_view job_name,
                       const Labels& labels) const {
  return std::all_of(globs_.begin(), globs_.end(), [&](const auto& matcher) {
    const auto& [label, glob] = matcher;
    if (label == kJobKey) return GlobMatches(glob, job_id) || GlobMatches(glob, job_name);
    return GlobMatches(glob, labels.Get(label));
  });
}

}  // namespace pitwall::plan
