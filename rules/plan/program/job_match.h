// Selection of jobs by globs (services/base/text/glob.h):
//
//   match: {job: "llama-*"}                # glob over the job's ID and name
//   match: {team: vision, tier: "prod*"}   # globs over the job's labels; all must match
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/yaml/yaml.h"
#include "services/model/labels.h"

namespace pitwall::plan {

class JobMatch {
 public:
  // Parses the key "match" of `map`. `what` names the key's owner in messages, such as "an
  // override". A missing or empty match is an error.
  static JobMatch Parse(yaml::StrictMap* map, std::string_view what);

  friend bool operator==(const JobMatch&, const JobMatch&) = default;
  bool Matches(std::string_view job_id, std::string_view job_name, const Labels& labels) const;

 private:
  std::vector<std::pair<std::string, std::string>> globs_;  // pairs of label (or "job") and glob
};

}  // namespace pitwall::plan
