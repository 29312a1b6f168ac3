// Typed, strict reader for JSON objects. Every error contains the path of the key.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::codec {

// Object inside parsed JSON. The reader keeps the first error, and later reads return defaults, so
// callers read all fields and then check status(). Nested objects share the document and the error,
// and must not outlive the outermost object. Not thread-safe.
class JsonReader {
 public:
  // Parses `text`. Returns InvalidArgument with the position if `text` is not a JSON object or is
  // longer than `max_bytes`.
  static StatusOr<JsonReader> Parse(std::string_view text, size_t max_bytes);

  bool Has(std::string_view key) const;
  // Returns the value of the key, or the default if the key is absent or null.
  std::string String(std::string_view key) const;
  uint64_t Uint(std::string_view key) const;
  bool Bool(std::string_view key) const;
  double Double(std::string_view key) const;      // a number, "NaN", "+Inf", or "-Inf"
  int64_t Time(std::string_view key) const;       // RFC 3339 time as Unix nanoseconds; 0 if absent
  JsonReader Object(std::string_view key) const;  // empty if absent
  Labels LabelSet(std::string_view key) const;    // an object whose values are strings
  // Returns the elements in document order.
  std::vector<std::pair<std::string, double>> Doubles(std::string_view key) const;
  std::vector<std::string> Strings(std::string_view key) const;
  void ForEachObject(std::string_view key, const std::function<void(const JsonReader&)>& f) const;

  // Records an error for the key. `what` is the cause.
  void Fail(std::string_view key, std::string_view what) const;
  // Behaves like String, but rejects an absent or empty value.
  std::string Required(std::string_view key) const;
  const Status& status() const;

 private:
  struct Text;
  JsonReader(std::shared_ptr<Text> text, const void* node, std::string path)
      : text_(std::move(text)), node_(node), path_(std::move(path)) {}

  std::shared_ptr<Text> text_;
  const void* node_;  // a nlohmann object; null if absent
  std::string path_;
};

}  // namespace pitwall::codec
