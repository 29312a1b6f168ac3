#include "services/model/labels.h"

#include <algorithm>

#include "services/base/stable_hash.h"

namespace pitwall {

Labels::Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  std::vector<Label> list;
  list.reserve(pairs.size());
  for (const auto& [name, value] : pairs) list.push_back({std::string(name), std::string(value)});
  *this = FromPairs(std::move(list));
}

Labels Labels::FromPairs(std::vector<Label> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Label& a, const Label& b) { return a.name < b.name; });
  Labels out;
  out.pairs_.reserve(pairs.size());
  for (Label& label : pairs) {
    if (!out.pairs_.empty() && out.pairs_.back().name == label.name) out.pairs_.pop_back();
    out.pairs_.push_back(std::move(label));
  }
  std::erase_if(out.pairs_, [](const Label& label) { return label.value.empty(); });
  return out;
}

std::string_view Labels::Get(std::string_view name) const {
  // A handful of them: lengths differ mostly, and a comparison of those is quicker than an order.
  for (const Label& label : pairs_) {
    if (label.name == name) return label.value;
  }
  return {};
}

Labels Labels::With(std::string_view name, std::string_view value) const {
  std::vector<Label> list(pairs_.begin(), pairs_.end());
  list.push_back({std::string(name), std::string(value)});
  return FromPairs(std::move(list));
}

namespace {
bool Contains(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
}  // namespace

Labels Labels::Keep(std::span<const std::string> names) const {
  Labels out;
  for (const Label& label : pairs_) {
    if (Contains(names, label.name)) out.pairs_.push_back(label);
  }
  return out;
}
Labels Labels::Drop(std::span<const std::string> names) const {
  Labels out;
  for (const Label& label : pairs_) {
    if (!Contains(names, label.name)) out.pairs_.push_back(label);
  }
  return out;
}
Labels Labels::DropName() const {
  Labels out;
  for (const Label& label : pairs_) {
    if (label.name != kMetricName) out.pairs_.push_back(label);
  }
  return out;
}

std::string Labels::ToString() const {
  std::string out(Name());
  bool first = true;
  for (const Label& label : pairs_) {
    if (label.name == kMetricName) continue;
    out += first ? "{" : ",";
    first = false;
    out += label.name;
    out += "=\"";
    for (const char c : label.value) {
      if (c == '\n') {
        out += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  if (!first) {
    out += '}';
  } else if (out.empty()) {
    out = "{}";
  }
  return out;
}

uint64_t Labels::StableHash() const {
  std::string bytes;
  for (const Label& label : pairs_) {
    // 0xff occurs in no UTF-8 text, so no two label sets share these bytes.
    bytes += label.name;
    bytes += '\xff';
    bytes += label.value;
    bytes += '\xff';
  }
  return StableHash64(bytes);
}

}  // namespace pitwall
