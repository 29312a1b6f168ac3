#include "services/model/labels.h"

#include <algorithm>
#include <iterator>

#include "absl/hash/hash.h"
#include "services/base/text/stable_hash.h"

namespace pitwall {

Labels::Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  std::vector<Label> list;
  list.reserve(pairs.size());
  for (const auto& [name, value] : pairs) list.push_back({std::string(name), std::string(value)});
  *this = FromPairs(std::move(list));
}

Labels Labels::Own(std::vector<Label> pairs) {
  Labels out;
  if (pairs.empty()) return out;
  const auto own = std::make_shared<Label[]>(pairs.size());
  std::move(pairs.begin(), pairs.end(), own.get());
  size_t hash = 0;
  for (size_t i = 0; i < pairs.size(); ++i) hash = absl::HashOf(hash, own[i].name, own[i].value);
  out.pairs_ = own;
  out.size_ = static_cast<uint32_t>(pairs.size());
  out.hash_ = static_cast<uint32_t>(hash);
  return out;
}

Labels Labels::FromPairs(std::vector<Label> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Label& a, const Label& b) { return a.name < b.name; });
  std::vector<Label> unique;
  unique.reserve(pairs.size());
  for (Label& label : pairs) {
    if (!unique.empty() && unique.back().name == label.name) unique.pop_back();
    unique.push_back(std::move(label));
  }
  std::erase_if(unique, [](const Label& label) { return label.value.empty(); });
  return Own(std::move(unique));
}

std::strong_ordering Labels::Compare(const Labels& a, const Labels& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

std::string_view Labels::Get(std::string_view name) const {
  // Label sets are small. Most names differ in length, so a linear scan is faster than a binary
  // search.
  for (const Label& label : *this) {
    if (label.name == name) return label.value;
  }
  return {};
}

Labels Labels::With(std::string_view name, std::string_view value) const {
  std::vector<Label> out;
  out.reserve(size() + 1);
  const Label* rest = begin();
  for (; rest != end() && rest->name < name; ++rest) out.push_back(*rest);
  if (!value.empty()) out.push_back({std::string(name), std::string(value)});
  if (rest != end() && rest->name == name) ++rest;
  out.insert(out.end(), rest, end());
  return Own(std::move(out));
}

template <typename Wanted>
Labels Labels::Where(Wanted wanted) const {
  std::vector<Label> out;
  out.reserve(size());
  std::copy_if(begin(), end(), std::back_inserter(out), wanted);
  return out.size() == size() ? *this : Own(std::move(out));
}

namespace {
bool Contains(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
}  // namespace

Labels Labels::Keep(std::span<const std::string> names) const {
  return Where([&](const Label& label) { return Contains(names, label.name); });
}
Labels Labels::Drop(std::span<const std::string> names) const {
  return Where([&](const Label& label) { return !Contains(names, label.name); });
}
Labels Labels::DropName() const {
  return Where([](const Label& label) { return label.name != kMetricName; });
}

std::string Labels::ToString() const {
  std::string out(Name());
  bool first = true;
  for (const Label& label : *this) {
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
  for (const Label& label : *this) {
    // 0xff does not occur in UTF-8 text, so different label sets never have the same bytes.
    bytes += label.name;
    bytes += '\xff';
    bytes += label.value;
    bytes += '\xff';
  }
  return StableHash64(bytes);
}

}  // namespace pitwall
