// Packs that are made of rules of other packs:
//
//   include:
//   - {pack: training, alerts: [StragglerRank, StragglerNode]}
//   - {pack: hangs}
//
// An included rule keeps its file, group and name, so one that two files include, or that is also
// given with its whole pack, is one rule. With an alert come the recording rules of its pack that
// it reads. Which rules a set has is decided here, once, before the text goes to the log: the
// compiler and the log see plain files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/rule_set.h"

namespace pitwall::lang {

// The text of a pack by its name; NotFound names the nearest one.
using PackSource = std::function<StatusOr<RuleSetFile>(std::string_view name)>;

// Rules that a file takes from a pack.
struct Inclusion {
  std::string by;  // name of the file
  std::string pack;
  std::vector<std::string> alerts;  // empty: the whole pack
};

struct ExpandedFiles {
  std::vector<RuleSetFile> files;  // those given, then the packs that they include, by name
  std::vector<Inclusion> inclusions;
};

// Includes are commented out, and of a pack that is included in part all other rules are blanked:
// lines keep their numbers. A file that is not YAML is left to the compiler. InvalidArgument with
// file:line:col: an unknown pack or alert, or a given file with the name of an included pack and
// another text.
StatusOr<ExpandedFiles> ExpandIncludes(std::vector<RuleSetFile> files, const PackSource& packs);

}  // namespace pitwall::lang
