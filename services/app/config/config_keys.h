// Table of all keys of the configuration. Reading, printing, and documenting the configuration
// visit the same table, so every key that the parser accepts is printed and documented.
//
// To add a key, add a line to config_keys.cc and a field to config.h. Then `ninja config_docs`
// writes docs/configuration.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/app/config/config.h"

namespace pitwall {

struct CountRange {
  int64_t least = 0;
  int64_t most = 0;
  std::string_view unit;  // "" or e.g. "bytes"
};

// Visitor of keys. Each call passes a key, its field, which holds the default until it is read, and
// the purpose of the key.
class ConfigKeys {
 public:
  virtual ~ConfigKeys() = default;
  virtual void Text(std::string_view key, std::string* field, std::string_view help) = 0;
  virtual void Choice(std::string_view key, const std::vector<std::string_view>& choices,
                      std::string* field, std::string_view help) = 0;
  virtual void Bool(std::string_view key, bool* field, std::string_view help) = 0;
  virtual void Count(std::string_view key, const CountRange& range, int64_t* field,
                     std::string_view help) = 0;
  virtual void Duration(std::string_view key, int64_t* nanoseconds, std::string_view help) = 0;
  virtual void Texts(std::string_view key, std::vector<std::string>* field,
                     std::string_view help) = 0;
  virtual void TextMap(std::string_view key, std::map<std::string, std::string>* field,
                       std::string_view help) = 0;
  virtual void Section(std::string_view key, std::string_view help,
                       const std::function<void()>& keys) = 0;
  // Report a problem with the value of a key, or with the section that lacks the key. An empty
  // problem means that the value is valid. Only the visitor that reads uses them.
  virtual void CheckValue(std::string_view /*key*/, const std::string& /*problem*/) {}
  virtual void CheckKey(std::string_view /*key*/, const std::string& /*problem*/) {}

  // Visits an integer field of any width.
  template <typename T>
  void Number(std::string_view key, const CountRange& range, T* field, std::string_view help) {
    int64_t wide = static_cast<int64_t>(*field);
    Count(key, range, &wide, help);
    *field = static_cast<T>(wide);
  }
  // Visits a list of maps. `keys` visits the keys of one map, and `what` names a map in messages.
  template <typename T, typename F>
  void List(std::string_view key, std::string_view what, std::vector<T>* items,
            std::string_view help, F keys) {
    Items(key, what, help,
          {.size = items->size(),
           .append = [items] { items->emplace_back(); },
           .visit = [items, keys](size_t i) { keys((*items)[i]); }});
  }

 protected:
  struct Sequence {
    size_t size = 0;
    std::function<void()> append;
    std::function<void(size_t)> visit;
  };
  virtual void Items(std::string_view key, std::string_view what, std::string_view help,
                     const Sequence& items) = 0;
};

// Returns "" if the collector supports the sampling interval, otherwise the problem.
std::string IntervalProblem(int64_t interval_ns);

void VisitConfig(ConfigKeys& keys, Config& config);
// Visits the keys of the section `notifier`.
void NotifierKeys(ConfigKeys& keys, NotifierConfig& notifier);
// Visits a duration of at least 1 ms.
void Positive(ConfigKeys& keys, std::string_view key, int64_t* nanoseconds, std::string_view help);

// Returns docs/configuration.md: every key with type, default, range, and meaning, and the options.
std::string ConfigAsMarkdown();

}  // namespace pitwall
