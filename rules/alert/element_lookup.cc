#include "rules/alert/element_lookup.h"

namespace pitwall::alert {

bool Agree(const Labels& a, const Labels& b) {
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    const int order = x->name.compare(y->name);
    if (order < 0) {
      ++x;
    } else if (order > 0) {
      ++y;
    } else {
      if (x->value != y->value && x->name != kMetricName) return false;
      ++x;
      ++y;
    }
  }
  return true;
}

std::span<const uint32_t> ElementLookup::Find(const Labels& labels, const eval::Vector& in) {
  if (binding_ != in.binding || binding_ == 0) {
    binding_ = in.binding;
    places_.clear();
    const eval::LabelColumn& column = *in.column;
    // The usual cases come first: the same labels, or the same labels except for a metric name that
    // an operator dropped.
    int64_t place = column.Find(labels);
    if (place < 0 && !column.empty() && labels.Name() != column[0].Name()) {
      place = column.Find(labels.With(kMetricName, column[0].Name()));
    }
    if (place >= 0 && (which_ == kOwn || column.IsUniform())) {
      places_.push_back(static_cast<uint32_t>(place));
    } else {
      for (size_t i = 0; i < column.size(); ++i) {
        if (Agree(labels, column[i])) places_.push_back(static_cast<uint32_t>(i));
      }
    }
  }
  return places_;
}

bool ElementLookup::IsPresent(const Labels& labels, const eval::Vector& in) {
  for (const uint32_t place : Find(labels, in)) {
    if (in.present[place] != 0) return true;
  }
  return false;
}

}  // namespace pitwall::alert
