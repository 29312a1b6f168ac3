// Encoding of label sets in saved state: each set only contains the difference from the previous
// one.
#pragma once

#include "services/base/binary.h"
#include "services/model/labels.h"

namespace pitwall::alert {

class LabelsWriter {
 public:
  explicit LabelsWriter(BinaryWriter& out) : out_(out) {}
  void Write(const Labels& labels);

 private:
  BinaryWriter& out_;
  Labels last_;
};

class LabelsReader {
 public:
  explicit LabelsReader(BinaryReader& in) : in_(in) {}
  // Fails the reader if the data is not a valid label set (ordered names, no empty values).
  Labels Read();

 private:
  BinaryReader& in_;
  Labels last_;
};

}  // namespace pitwall::alert
