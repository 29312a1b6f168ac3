// Visitor for configuration keys, with which a settings struct declares its keys beside its fields.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pitwall {

struct CountRange {
  int64_t least = 0;
  int64_t most = 0;
  std::string_view unit;  // "" or a unit such as "bytes"
};

// Visitor for configuration keys. Each call passes a key, its description, and its field. The field
// contains the default value until the key is read.
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
  // Report a problem with a key's value, or a missing key. An empty problem means that the value is
  // valid. Only the reading visitor implements these functions.
  virtual void CheckValue(std::string_view /*key*/, const std::string& /*problem*/) {}
  virtual void CheckKey(std::string_view /*key*/, const std::string& /*problem*/) {}

  // Visits an integer field of any width.
  template <typename T>
  void Number(std::string_view key, const CountRange& range, T* field, std::string_view help) {
    int64_t wide = static_cast<int64_t>(*field);
    Count(key, range, &wide, help);
    *field = static_cast<T>(wide);
  }
  // Visits a list of maps. `keys` visits the keys of one map. `what` describes a map in messages.
  template <typename T, typename F>
  void List(std::string_view key, std::string_view what, std::vector<T>* items,
            std::string_view help, F keys) {
    Items(key, what, help,
          {.size = items->size(),
           .append = [items] { items->emplace_back(); },
           .visit = [items, keys](size_t i) { keys((*items)[i]); }});
  }

  // Like List, but `make` returns a new item.
  template <typename T, typename M, typename F>
  void ListOf(std::string_view key, std::string_view what, std::vector<T>* items,
              std::string_view help, M make, F keys) {
    Items(key, what, help,
          {.size = items->size(),
           .append = [items, make] { items->push_back(make()); },
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

// Visits a duration of at least 1 ms.
void Positive(ConfigKeys& keys, std::string_view key, int64_t* nanoseconds, std::string_view help);
// Returns "" if the text is empty or the location of a secret (`file:PATH`, `env:NAME`), and
// otherwise a description of the problem.
std::string SecretPlaceProblem(std::string_view place);

}  // namespace pitwall
