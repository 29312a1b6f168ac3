// Metric families: what TYPE, UNIT and HELP said of them, and which samples each type has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/text/strings.h"
#include "services/codec/openmetrics/line_parser.h"
#include "services/model/labels.h"

namespace pitwall::openmetrics {

enum class FamilyType {
  kUnknown,
  kGauge,
  kCounter,
  kStateSet,
  kInfo,
  kHistogram,
  kGaugeHistogram,
  kSummary,
};

// What a sample is inside of its family.
enum class Part { kPlain, kTotal, kCreated, kBucket, kCount, kSum, kGaugeCount, kGaugeSum, kInfo };

struct Family {
  std::string name;
  FamilyType type = FamilyType::kUnknown;
  bool typed = false, united = false, helped = false;  // which metadata stood there
  bool sampled = false;                                // has samples
  bool closed = false;                                 // another family has begun after it

  bool declared() const { return typed || united || helped; }
};

class Families {
 public:
  explicit Families(Dialect dialect) : dialect_(dialect) {}

  // The type of a TYPE line, or nothing when the dialect has none of that name.
  std::optional<FamilyType> TypeOf(std::string_view word) const;
  // The family of that very name, which may be new.
  uint32_t Named(std::string_view name);
  // The family of a sample, which may be a new one without metadata, and which part of it the
  // sample is. Nothing with *error set: the type of the family has no such sample.
  std::optional<uint32_t> OfSample(std::string_view sample, Part* part, std::string* error);
  // The family that a line speaks of. False: its samples stood elsewhere before, and it is one with
  // metadata.
  bool Enter(uint32_t family);

  Family& at(uint32_t family) { return families_[family]; }
  size_t size() const { return families_.size(); }

  // "" or what is wrong with the labels or the value of such a sample.
  std::string CheckLabels(uint32_t family, Part part, std::span<const Label> labels) const;
  std::string CheckValue(uint32_t family, Part part, double value) const;
  // Labels that hold numbers in the one form that Prometheus gives them.
  void NormalizeNumbers(uint32_t family, std::vector<Label>* labels) const;

 private:
  bool Has(FamilyType type, Part part) const;

  const Dialect dialect_;
  std::vector<Family> families_;
  StringMap<uint32_t> by_name_;
  uint32_t current_ = UINT32_MAX;
};

}  // namespace pitwall::openmetrics
