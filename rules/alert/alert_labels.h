// Errors about the labels of a rule's alerts.
#pragma once

#include <cstddef>

#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/model/label_bytes.h"

namespace pitwall::alert {

inline Status DuplicateAlertLabels() {
  return InvalidArgument(
      "vector contains metrics with the same labelset after applying alert labels");
}

// Adds up the label sizes of a rule's alerts and checks the limit. Templates may create labels of
// any length for each element.
class AlertLabelBytes {
 public:
  explicit AlertLabelBytes(size_t limit) : limit_(limit) {}
  void Add(const Labels& labels) { bytes_ += LabelBytes(labels); }
  bool exceeded() const { return bytes_ > limit_; }
  Status status() const {
    if (!exceeded()) return OkStatus();
    return ResourceExhausted(
        Cat("alert labels exceed ", limit_, " bytes; use shorter label templates"));
  }

 private:
  const size_t limit_;
  size_t bytes_ = 0;
};

}  // namespace pitwall::alert
