// Composition of packs from rules in other packs:
//
//   include:
//   - {pack: training, alerts: [StragglerRank, StragglerNode]}
//   - {pack: hangs}
//
// An included rule keeps its file, group, and name. A rule that is included twice, or that is also
// given with its pack, therefore appears only once. Including an alert also includes the recording
// rules of its pack that it reads. Includes are resolved once, before the text is written to the
// log, so the compiler and the log see plain files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/rule_set.h"

namespace pitwall::lang {

// Returns the text of a pack, or a NotFound error that suggests the nearest pack.
using PackSource = std::function<StatusOr<RuleSetFile>(std::string_view name)>;

// Rules that a file includes from a pack.
struct Inclusion {
  std::string by;  // name of the including file
  std::string pack;
  std::vector<std::string> alerts;  // if empty, the whole pack is included
};

struct ExpandedFiles {
  std::vector<RuleSetFile> files;  // the given files, followed by the included packs in name order
  std::vector<Inclusion> inclusions;
};

// Resolves includes. Includes are commented out, and the other rules of a partly included pack are
// blanked, so line numbers do not change. The compiler reports files that are not YAML. Returns
// InvalidArgument with file:line:col for an unknown pack or alert, or for a given file that has the
// name of an included pack but a different text.
StatusOr<ExpandedFiles> ExpandIncludes(std::vector<RuleSetFile> files, const PackSource& packs);

}  // namespace pitwall::lang
