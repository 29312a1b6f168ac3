// Metric families: metadata (TYPE, UNIT, HELP) and the samples allowed for each type.
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

// Role of a sample in its family.
enum class Part { kPlain, kTotal, kCreated, kBucket, kCount, kSum, kGaugeCount, kGaugeSum, kInfo };

struct Family {
  std::string name;
  FamilyType type = FamilyType::kUnknown;
  bool typed = false, united = false, helped = false;  // metadata lines seen so far
  bool sampled = false;                                // the family has samples
  bool closed = false;                                 // another family has started since

  bool declared() const { return typed || united || helped; }
};

class Families {
 public:
  explicit Families(Dialect dialect) : dialect_(dialect) {}

  // Returns the type in a TYPE line, or nullopt if the dialect does not define it.
  std::optional<FamilyType> TypeOf(std::string_view word) const;
  // Returns the family with exactly this name. Adds it if it is new.
  uint32_t Named(std::string_view name);
  // Returns the sample's family, which may be new and without metadata, and sets *part to the
  // sample's role. Returns nullopt and sets *error if the family's type does not allow this sample.
  std::optional<uint32_t> OfSample(std::string_view sample, Part* part, std::string* error);
  // Records that the current line belongs to `family`. Returns false if the family has metadata and
  // its lines are interleaved with those of other families.
  bool Enter(uint32_t family);

  Family& at(uint32_t family) { return families_[family]; }
  size_t size() const { return families_.size(); }

  // Returns the error in the sample's labels or value, or "" if both are valid.
  std::string CheckLabels(uint32_t family, Part part, std::span<const Label> labels) const;
  std::string CheckValue(uint32_t family, Part part, double value) const;
  // Rewrites numeric label values in the form that Prometheus uses.
  void NormalizeNumbers(uint32_t family, std::vector<Label>* labels) const;

 private:
  bool Has(FamilyType type, Part part) const;

  const Dialect dialect_;
  std::vector<Family> families_;
  StringMap<uint32_t> by_name_;
  uint32_t current_ = UINT32_MAX;
};

}  // namespace pitwall::openmetrics
