#include "services/codec/json/json_reader.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/time/time.h"
#include "services/base/text/strings.h"

namespace pitwall::codec {
namespace {

using Json = nlohmann::ordered_json;

const Json* Find(const void* node, std::string_view key) {
  if (node == nullptr) return nullptr;
  const Json& object = *static_cast<const Json*>(node);
  const auto at = object.find(std::string(key));
  if (at == object.end() || at->is_null()) return nullptr;
  return &*at;
}

std::optional<double> AsDouble(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text == "NaN" || text == "+Inf" || text == "-Inf") return ParseDouble(text);
  }
  return std::nullopt;
}

}  // namespace

struct JsonReader::Text {
  Json root;
  Status status;
};

StatusOr<JsonReader> JsonReader::Parse(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return InvalidArgument(
        Cat("JSON text has ", text.size(), " bytes; the limit is ", max_bytes, " bytes"));
  }
  auto parsed = std::make_shared<Text>();
  try {
    // The parser itself is not recursive, but copying or destroying a deep tree may be, so the
    // depth is limited.
    int depth = 0;
    parsed->root =
        Json::parse(text.begin(), text.end(), [&depth](int at, Json::parse_event_t, Json&) {
          depth = std::max(depth, at);
          return true;
        });
    if (depth > 32) return InvalidArgument("JSON is nested deeper than 32 levels");
  } catch (const nlohmann::json::exception& e) {
    return InvalidArgument(Cat("not JSON: ", e.what()));
  }
  if (!parsed->root.is_object()) return InvalidArgument("not a JSON object");
  const void* root = &parsed->root;
  return JsonReader(std::move(parsed), root, "");
}

void JsonReader::Fail(std::string_view key, std::string_view what) const {
  if (text_->status.ok()) text_->status = InvalidArgument(Cat(path_, key, ": ", what));
}

const Status& JsonReader::status() const { return text_->status; }

bool JsonReader::Has(std::string_view key) const { return Find(node_, key) != nullptr; }

std::string JsonReader::String(std::string_view key) const {
  const Json* value = Find(node_, key);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    Fail(key, "must be a string");
    return {};
  }
  return value->get<std::string>();
}

std::string JsonReader::Required(std::string_view key) const {
  std::string value = String(key);
  if (value.empty()) Fail(key, "is missing");
  return value;
}

uint64_t JsonReader::Uint(std::string_view key) const {
  const Json* value = Find(node_, key);
  if (value == nullptr) return 0;
  if (!value->is_number_unsigned()) {
    Fail(key, "must be an integer from 0 to 2^64-1");
    return 0;
  }
  return value->get<uint64_t>();
}

bool JsonReader::Bool(std::string_view key) const {
  const Json* value = Find(node_, key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) {
    Fail(key, "must be true or false");
    return false;
  }
  return value->get<bool>();
}

double JsonReader::Double(std::string_view key) const {
  const Json* value = Find(node_, key);
  if (value == nullptr) return 0;
  const std::optional<double> number = AsDouble(*value);
  if (!number) Fail(key, "must be a number, \"NaN\", \"+Inf\", or \"-Inf\"");
  return number.value_or(0);
}

int64_t JsonReader::Time(std::string_view key) const {
  const std::string text = String(key);
  if (text.empty()) return 0;
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    Fail(key, Cat("must be an RFC 3339 time (got ", Quote(text), ")"));
    return 0;
  }
  if (time < absl::FromUnixNanos(std::numeric_limits<int64_t>::min()) ||
      time > absl::FromUnixNanos(std::numeric_limits<int64_t>::max())) {
    Fail(key, Cat("time is out of range: ", Quote(text)));
    return 0;
  }
  return absl::ToUnixNanos(time);
}

JsonReader JsonReader::Object(std::string_view key) const {
  const Json* value = Find(node_, key);
  if (value != nullptr && !value->is_object()) {
    Fail(key, "must be an object");
    value = nullptr;
  }
  return JsonReader(text_, value, Cat(path_, key, "."));
}

Labels JsonReader::LabelSet(std::string_view key) const {
  const JsonReader object = Object(key);
  if (object.node_ == nullptr) return {};
  std::vector<Label> labels;
  for (const auto& [name, value] : static_cast<const Json*>(object.node_)->items()) {
    if (!value.is_string()) {
      object.Fail(name, "must be a string");
      return {};
    }
    labels.push_back({name, value.get<std::string>()});
  }
  return Labels::FromPairs(std::move(labels));
}

std::vector<std::pair<std::string, double>> JsonReader::Doubles(std::string_view key) const {
  std::vector<std::pair<std::string, double>> numbers;
  const JsonReader object = Object(key);
  if (object.node_ == nullptr) return numbers;
  for (const auto& [name, value] : static_cast<const Json*>(object.node_)->items()) {
    const std::optional<double> number = AsDouble(value);
    if (!number) {
      object.Fail(name, "must be a number, \"NaN\", \"+Inf\", or \"-Inf\"");
      return numbers;
    }
    numbers.emplace_back(name, *number);
  }
  return numbers;
}

std::vector<std::string> JsonReader::Strings(std::string_view key) const {
  std::vector<std::string> strings;
  const Json* value = Find(node_, key);
  if (value == nullptr) return strings;
  if (!value->is_array()) {
    Fail(key, "must be an array");
    return strings;
  }
  for (const Json& element : *value) {
    if (!element.is_string()) {
      Fail(key, "must be an array of strings");
      return {};
    }
    strings.push_back(element.get<std::string>());
  }
  return strings;
}

void JsonReader::ForEachObject(std::string_view key,
                               const std::function<void(const JsonReader&)>& f) const {
  const Json* value = Find(node_, key);
  if (value == nullptr) return;
  if (!value->is_array()) {
    Fail(key, "must be an array");
    return;
  }
  size_t i = 0;
  for (const Json& element : *value) {
    const std::string place = Cat(key, "[", i++, "]");
    if (!element.is_object()) {
      Fail(place, "must be an object");
      return;
    }
    f(JsonReader(text_, &element, Cat(path_, place, ".")));
  }
}

}  // namespace pitwall::codec
