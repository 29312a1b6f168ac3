#include "rules/eval/label_limits.h"

#include "services/base/text/strings.h"
#include "services/model/label_bytes.h"

namespace pitwall::eval {

Status TooManyLabelBytes(std::string_view function, size_t limit) {
  return ResourceExhausted(
      Cat(function, ": the evaluation produces more than ", limit,
          " bytes of label sets, the limit per evaluation; select fewer series or use shorter "
          "labels"));
}

Status LabelMeter::CheckValue(const LabelLimits& limits, std::string_view label,
                              size_t bytes) const {
  if (bytes <= limits.value) return OkStatus();
  return ResourceExhausted(Cat(function_, ": the value of label ", Quote(label), " is longer than ",
                               limits.value,
                               " bytes, the limit for a label value; use a shorter replacement or "
                               "fewer source labels"));
}

Status LabelMeter::Add(const LabelLimits& limits, const Labels& labels) {
  const size_t bytes = LabelBytes(labels);
  if (bytes > limits.set) {
    return ResourceExhausted(Cat(function_, ": a label set is ", bytes, " bytes; the limit is ",
                                 limits.set, "; use shorter or fewer labels"));
  }
  bytes_ += bytes;
  return bytes_ <= limits.evaluation ? OkStatus() : TooManyLabelBytes(function_, limits.evaluation);
}

}  // namespace pitwall::eval
