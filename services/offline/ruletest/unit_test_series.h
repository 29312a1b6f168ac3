// Input series of one test during the expansion of a unit-test file.
#pragma once

#include <map>
#include <vector>

#include "services/base/yaml/yaml.h"
#include "services/model/labels.h"

namespace pitwall::offline {

class InputSeriesList {
 public:
  explicit InputSeriesList(std::vector<yaml::Problem>* problems) : problems_(problems) {}

  // Adds an entry, in which groups of values are written out. If it has `replace: true`, it takes
  // the place of the series with its labels. `made`: the entry is of a fixture or has been
  // repeated, so that it must not define a series again with other values. As in promtool, other
  // entries may.
  void Add(const yaml::Node& written, bool made);

  std::vector<yaml::Node> Take() { return std::move(entries_); }

 private:
  struct Slot {
    size_t index;
    bool made;
  };

  // Returns a copy of an entry in which groups of values are written out.
  yaml::Node WithoutGroups(const yaml::Node& entry);

  std::vector<yaml::Problem>* const problems_;
  std::vector<yaml::Node> entries_;
  std::map<Labels, Slot> slots_;
};

}  // namespace pitwall::offline
