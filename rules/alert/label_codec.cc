#include "rules/alert/label_codec.h"

#include <algorithm>

namespace pitwall::alert {

void LabelsWriter::Write(const Labels& labels) {
  const auto a = last_.pairs();
  const auto b = labels.pairs();
  size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  out_.U64(same);
  out_.U64(b.size() - same);
  for (const Label& label : b.subspan(same)) {
    out_.Str(label.name);
    out_.Str(label.value);
  }
  last_ = labels;
}

Labels LabelsReader::Read() {
  const uint64_t same = in_.U64();
  const size_t more = in_.Count(2);
  if (same > last_.size()) in_.Fail();
  if (!in_.ok()) return {};
  std::vector<Label> pairs(last_.begin(), last_.begin() + static_cast<std::ptrdiff_t>(same));
  for (size_t i = 0; i < more && in_.ok(); ++i) {
    std::string name = in_.Str();
    std::string value = in_.Str();
    if (value.empty() || (!pairs.empty() && pairs.back().name >= name)) in_.Fail();
    pairs.push_back({std::move(name), std::move(value)});
  }
  if (!in_.ok()) return {};
  last_ = Labels::FromPairs(std::move(pairs));
  return last_;
}

}  // namespace pitwall::alert
