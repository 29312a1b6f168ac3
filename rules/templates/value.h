// Template values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "services/model/labels.h"

namespace pitwall::templates {

// Single element of a query result.
struct QuerySample {
  Labels labels;
  double value = 0;
};

struct Nil {
  friend bool operator==(Nil, Nil) = default;
};
// Input map that a value refers to. Input maps are never copied.
enum class MapKind { kRoot, kLabels, kParams, kEmpty };

// Result of a query in label order. Immutable, and never null.
struct SampleList {
  std::shared_ptr<const std::vector<QuerySample>> samples;
};
// Reference to an element of a query result.
struct SampleRef {
  std::shared_ptr<const std::vector<QuerySample>> samples;
  size_t index = 0;
  const QuerySample& get() const { return (*samples)[index]; }
};
// Labels of an element.
struct SampleLabels {
  SampleRef sample;
};
// Result of args(): arg0, arg1, …
struct ArgumentList;
struct Arguments {
  std::shared_ptr<const ArgumentList> list;
};

using Value = std::variant<Nil, bool, int64_t, double, std::string, MapKind, SampleList, SampleRef,
                           SampleLabels, Arguments>;

struct ArgumentList {
  std::vector<Value> values;
  int depth = 1;  // nesting depth of lists in the value
};

}  // namespace pitwall::templates
