// Packs composed of rules from other packs:
//
//   include:
//   - {pack: training, alerts: [StragglerRank, StragglerNode]}
//   - {pack: hangs}
//
// An included rule keeps its file, group, and name, so a rule that is included twice, or also given
// with its pack, is one rule. An alert brings the recording rules of its pack that it reads.
// Includes are resolved once, before the text is written to the log: the compiler and the log see
// plain files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/rule_set.h"

namespace pitwall::lang {

// Returns the text of a pack; NotFound names the nearest pack.
using PackSource = std::function<StatusOr<RuleSetFile>(std::string_view name)>;

// Rules that a file includes from a pack.
struct Inclusion {
  std::string by;  // name of the including file
  std::string pack;
  std::vector<std::string> alerts;  // empty: the whole pack
};

struct ExpandedFiles {
  std::vector<RuleSetFile> files;  // the given files, then the included packs by name
  std::vector<Inclusion> inclusions;
};

// Includes are commented out, and the other rules of a partly included pack are blanked, so line
// numbers do not change. The compiler reports a file that is not YAML. Returns InvalidArgument with
// file:line:col for an unknown pack or alert, or for a given file with the name of an included pack
// but another text.
StatusOr<ExpandedFiles> ExpandIncludes(std::vector<RuleSetFile> files, const PackSource& packs);

}  // namespace pitwall::lang
