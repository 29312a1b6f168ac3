// Expands the repetitions, fixtures, and defaults of a unit-test file (docs/rule-tests.md, "Less
// repetition"). The result has only Prometheus' keys and those of unit_test_file.h.
#pragma once

#include <vector>

#include "services/base/yaml/yaml.h"

namespace pitwall::offline {

// Returns `root` unchanged in content if it uses no such key. Nodes of the result have the
// positions of the nodes from which they were made. Problems are added to `problems`.
yaml::Node ExpandUnitTests(const yaml::Node& root, std::vector<yaml::Problem>* problems);

}  // namespace pitwall::offline
