// Label sets in saved state: each says only what differs from the one before.
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
  // Fails the reader when what it reads is no label set (names in order, no empty values).
  Labels Read();

 private:
  BinaryReader& in_;
  Labels last_;
};

}  // namespace pitwall::alert
