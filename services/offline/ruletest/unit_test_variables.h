// Variables of a unit-test file: `for` repeats an entry of a list, and `$name` in the entry is
// replaced with the variable's value.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/yaml/yaml.h"

namespace pitwall::offline {

inline constexpr size_t kMaxRepetitions = 1000;  // of one entry
// Values that repetitions and fixtures may add to a file.
inline constexpr size_t kMaxAddedNodes = 200'000;

class TestVariables {
 public:
  // Problems are added to `problems`, which must outlive this object.
  explicit TestVariables(std::vector<yaml::Problem>* problems) : problems_(problems) {}

  // Calls `each` for each combination of the values in the entry's `for`, or once if it has none.
  // The variables are set during the call, and hide those of an outer `for` with the same name.
  void Repeat(const yaml::Node& entry, const std::function<void()>& each);

  // Calls `body`, in which only the variables of the entry's `for` are set, and each `$name` must
  // be one. Elsewhere text is unchanged unless a variable is set.
  void Isolate(const yaml::Node& entry, const std::function<void()>& body);

  // Returns a copy of `node` in which `$name` and `${name}` are replaced, and `$$` with `$`.
  yaml::Node Substitute(const yaml::Node& node);

  // Counts the nodes of a copy. Returns false if there are too many.
  bool Count(const yaml::Node& node);

 private:
  using Values = std::vector<std::pair<std::string, std::string>>;  // one value per variable
  struct Variable {
    std::string value;
    size_t number;  // of the variable in the file, for used_
  };

  // Adds the combinations of the variables in `map`.
  void Combine(const yaml::Node& map, std::vector<Values>* rows);
  std::vector<std::string> ValuesOf(const yaml::Node& node);
  void AddRange(const yaml::Node& node, std::vector<std::string>* values);
  std::string Replace(const yaml::Node& node);
  void Add(yaml::Position position, std::string what);

  std::vector<yaml::Problem>* const problems_;
  std::map<std::string, Variable, std::less<>> variables_;
  std::set<size_t> used_;
  size_t numbers_ = 0;
  bool isolated_ = false;
  size_t nodes_ = 0;
};

// Returns a copy of a map without some keys.
yaml::Node WithoutKeys(const yaml::Node& map, const std::set<std::string_view>& keys);

// Returns the position of a key, or of the map if the key is absent.
yaml::Position KeyPositionOf(const yaml::Node& map, std::string_view key);

}  // namespace pitwall::offline
