// Variables available to template expressions. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/templates/template_tree.h"

namespace pitwall::templates {

struct Variable {
  std::string name;
  uint32_t slot;
};

// Variables in declaration order. A later variable shadows an earlier one with the same name.
class VariableScope {
 public:
  // Creates the scope of the main template, with the variables of the rule.
  VariableScope()
      : variables_{{"$", kRootSlot},
                   {"$labels", kLabelsSlot},
                   {"$externalLabels", kExternalLabelsSlot},
                   {"$externalURL", kExternalUrlSlot},
                   {"$value", kValueSlot},
                   {"$params", kParamsSlot},
                   {"$step", kStepSlot}} {}
  // Returns the scope of a separate template, which has no access to the enclosing variables.
  static VariableScope OfSeparateTemplate() {
    VariableScope scope;
    scope.variables_.resize(1);
    scope.separate_ = true;
    return scope;
  }

  // Returns the variable, or null if it is not declared.
  const Variable* Find(std::string_view name) const {
    for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
      if (it->name == name) return &*it;
    }
    return nullptr;
  }
  void Declare(const std::string& name, uint32_t slot) { variables_.push_back({name, slot}); }
  // Returns the number of variables, which Leave restores at the end of a block.
  size_t Enter() const { return variables_.size(); }
  void Leave(size_t entered) { variables_.resize(entered); }
  // Returns true in a separate template.
  bool separate() const { return separate_; }

 private:
  std::vector<Variable> variables_;
  bool separate_ = false;
};

}  // namespace pitwall::templates
