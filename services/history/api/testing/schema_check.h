// Validator that checks responses against the schemas in openapi.yaml. It supports the subset of
// JSON Schema that the file uses. It reports any other keyword as a mismatch.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/text/strings.h"
#include "services/base/yaml/values.h"
#include "services/base/yaml/yaml.h"
#include "services/model/matcher.h"

namespace pitwall::history {

class SchemaCheck {
 public:
  explicit SchemaCheck(yaml::Node document) : document_(std::move(document)) {}

  // Follows `$ref`, or returns the node itself.
  const yaml::Node& Resolve(const yaml::Node& node) const {
    const yaml::Node* ref = node.Find("$ref");
    if (ref == nullptr) return node;
    const yaml::Node* at = &document_;
    for (const std::string_view part : Split(std::string_view(ref->scalar()).substr(2), '/')) {
      at = at == nullptr ? nullptr : at->Find(part);
    }
    static const yaml::Node kNone;
    return at == nullptr ? kNone : *at;
  }

  // Returns the mismatches and their locations. The result is empty if the value matches the
  // schema.
  std::vector<std::string> Check(const yaml::Node& schema, const yaml::Node& value,
                                 const std::string& place = "$") const {
    std::vector<std::string> faults;
    Walk(Resolve(schema), value, place, &faults);
    return faults;
  }

 private:
  static std::string TypeOf(const yaml::Node& value) {
    if (value.IsMap()) return "object";
    if (value.IsSequence()) return "array";
    if (value.IsNull()) return "null";
    if (value.quoted()) return "string";
    if (value.scalar() == "true" || value.scalar() == "false") return "boolean";
    if (value.scalar() == "null") return "null";
    return yaml::ToInt(value).ok() ? "integer" : "number";
  }
  static std::vector<std::string> Words(const yaml::Node& node) {
    if (!node.IsSequence()) return {node.scalar()};
    std::vector<std::string> out;
    for (const yaml::Node& item : node.items()) out.push_back(item.scalar());
    return out;
  }

  void Walk(const yaml::Node& schema, const yaml::Node& value, const std::string& place,
            std::vector<std::string>* faults) const {
    static const std::set<std::string, std::less<>> kKnown = {
        "type",  "properties", "required", "additionalProperties", "items",
        "oneOf", "enum",       "pattern",  "description"};
    if (faults->size() > 20) return;
    for (const auto& entry : schema.entries()) {
      if (!kKnown.contains(entry.key)) faults->push_back(Cat(place, ": keyword ", entry.key));
    }
    if (const yaml::Node* choices = schema.Find("oneOf"))
      return WalkChoices(*choices, value, place, faults);
    const std::string type = TypeOf(value);
    if (const yaml::Node* wanted = schema.Find("type")) {
      const std::vector<std::string> types = Words(*wanted);
      const bool fits = std::any_of(types.begin(), types.end(), [&](const std::string& one) {
        return one == type || (one == "number" && type == "integer");
      });
      if (!fits) return faults->push_back(Cat(place, ": is ", type));
    } else {
      faults->push_back(Cat(place, ": the schema has no type"));
    }
    if (const yaml::Node* choices = schema.Find("enum")) {
      const std::vector<std::string> all = Words(*choices);
      if (std::find(all.begin(), all.end(), value.scalar()) == all.end())
        faults->push_back(Cat(place, ": not in enum: ", value.scalar()));
    }
    const yaml::Node* pattern = schema.Find("pattern");
    if (pattern != nullptr && type == "string" &&
        !Matcher::Make("", MatchOp::kRegex, Cat("(?s:.*)(?:", pattern->scalar(), ")(?s:.*)"))
             ->Matches(value.scalar()))
      faults->push_back(Cat(place, ": does not match: ", value.scalar()));
    if (type == "array") {
      const yaml::Node* items = schema.Find("items");
      if (items == nullptr) return faults->push_back(Cat(place, ": the schema has no items"));
      for (size_t i = 0; i < value.items().size(); ++i)
        Walk(Resolve(*items), value.items()[i], Cat(place, "[", i, "]"), faults);
    }
    if (type == "object") WalkObject(schema, value, place, faults);
  }

  void WalkChoices(const yaml::Node& choices, const yaml::Node& value, const std::string& place,
                   std::vector<std::string>* faults) const {
    size_t matches = 0;
    std::vector<std::string> all;
    for (const yaml::Node& choice : choices.items()) {
      const std::vector<std::string> one = Check(choice, value, place);
      matches += one.empty() ? 1 : 0;
      all.insert(all.end(), one.begin(), one.end());
    }
    if (matches == 1) return;
    faults->push_back(Cat(place, ": matches ", matches, " of oneOf"));
    if (matches == 0) faults->insert(faults->end(), all.begin(), all.end());
  }

  void WalkObject(const yaml::Node& schema, const yaml::Node& value, const std::string& place,
                  std::vector<std::string>* faults) const {
    if (const yaml::Node* required = schema.Find("required")) {
      for (const std::string& key : Words(*required)) {
        if (value.Find(key) == nullptr) faults->push_back(Cat(place, ".", key, ": missing"));
      }
    }
    const yaml::Node* properties = schema.Find("properties");
    const yaml::Node* others = schema.Find("additionalProperties");
    for (const auto& entry : value.entries()) {
      const std::string inside = Cat(place, ".", entry.key);
      const yaml::Node* known = properties == nullptr ? nullptr : properties->Find(entry.key);
      if (known != nullptr) {
        Walk(Resolve(*known), entry.value, inside, faults);
      } else if (others != nullptr && others->IsMap()) {
        Walk(Resolve(*others), entry.value, inside, faults);
      } else if (others != nullptr && others->scalar() == "false") {
        faults->push_back(Cat(inside, ": unknown"));
      }
    }
  }

  const yaml::Node document_;
};

}  // namespace pitwall::history
