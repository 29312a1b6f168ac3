// Every key of the configuration, once. What reads, prints and documents the configuration visits
// the same table, so a key that the parser knows is printed and documented too.
//
// A new key is one line in config_keys.cc (and its field in config.h); then
// `ninja config_docs` writes docs/configuration.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/pitwall/config.h"

namespace pitwall {

struct CountRange {
  int64_t least = 0;
  int64_t most = 0;
  std::string_view unit;  // "" or e.g. "bytes"
};

// A visitor of keys. Each call names a key, its field, which holds the default before it is read,
// and what the key is for.
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
  // Something wrong with the value of a key, or with the section that should have it; an empty
  // problem means valid. Only what reads cares.
  virtual void CheckValue(std::string_view /*key*/, const std::string& /*problem*/) {}
  virtual void CheckKey(std::string_view /*key*/, const std::string& /*problem*/) {}

  // Fields of other widths.
  template <typename T>
  void Number(std::string_view key, const CountRange& range, T* field, std::string_view help) {
    int64_t wide = static_cast<int64_t>(*field);
    Count(key, range, &wide, help);
    *field = static_cast<T>(wide);
  }
  // A list of maps: `keys` visits the keys of one; `what` names one in messages.
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

// Empty when the collector can sample so often.
std::string IntervalProblem(int64_t interval_ns);

void VisitConfig(ConfigKeys& keys, Config& config);
// Those of the section `notifier`.
void NotifierKeys(ConfigKeys& keys, NotifierConfig& notifier);
// A duration of at least 1 ms.
void Positive(ConfigKeys& keys, std::string_view key, int64_t* nanoseconds, std::string_view help);

// docs/configuration.md: every key with type, default, range and meaning, and the flags.
std::string ConfigAsMarkdown();

}  // namespace pitwall
