#include "services/codec/openmetrics/families.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace pitwall::openmetrics {
namespace {

struct Suffix {
  std::string_view text;
  Part part;
};
constexpr std::array<Suffix, 8> kSuffixes = {{{"_total", Part::kTotal},
                                              {"_created", Part::kCreated},
                                              {"_bucket", Part::kBucket},
                                              {"_count", Part::kCount},
                                              {"_sum", Part::kSum},
                                              {"_gcount", Part::kGaugeCount},
                                              {"_gsum", Part::kGaugeSum},
                                              {"_info", Part::kInfo}}};

std::string_view NameOf(FamilyType type) {
  switch (type) {
    case FamilyType::kUnknown:
      return "unknown";
    case FamilyType::kGauge:
      return "gauge";
    case FamilyType::kCounter:
      return "counter";
    case FamilyType::kStateSet:
      return "stateset";
    case FamilyType::kInfo:
      return "info";
    case FamilyType::kHistogram:
      return "histogram";
    case FamilyType::kGaugeHistogram:
      return "gaugehistogram";
    case FamilyType::kSummary:
      return "summary";
  }
  return "";
}

const Label* Find(std::span<const Label> labels, std::string_view name) {
  const auto found =
      std::find_if(labels.begin(), labels.end(), [&](const Label& l) { return l.name == name; });
  return found == labels.end() ? nullptr : &*found;
}

}  // namespace

std::optional<FamilyType> Families::TypeOf(std::string_view word) const {
  const bool open = dialect_ == Dialect::kOpenMetrics;
  if (word == (open ? "unknown" : "untyped")) return FamilyType::kUnknown;
  for (const FamilyType type :
       {FamilyType::kGauge, FamilyType::kCounter, FamilyType::kHistogram, FamilyType::kSummary}) {
    if (word == NameOf(type)) return type;
  }
  if (!open) return std::nullopt;
  for (const FamilyType type :
       {FamilyType::kStateSet, FamilyType::kInfo, FamilyType::kGaugeHistogram}) {
    if (word == NameOf(type)) return type;
  }
  return std::nullopt;
}

uint32_t Families::Named(std::string_view name) {
  const auto [it, added] =
      by_name_.try_emplace(std::string(name), static_cast<uint32_t>(families_.size()));
  if (added) {
    families_.emplace_back();
    families_.back().name = name;
  }
  return it->second;
}

bool Families::Has(FamilyType type, Part part) const {
  const bool open = dialect_ == Dialect::kOpenMetrics;
  switch (type) {
    case FamilyType::kUnknown:
    case FamilyType::kGauge:
    case FamilyType::kStateSet:
      return part == Part::kPlain;
    case FamilyType::kCounter:
      return open ? part == Part::kTotal || part == Part::kCreated : part == Part::kPlain;
    case FamilyType::kInfo:
      return part == Part::kInfo;
    case FamilyType::kHistogram:
      return part == Part::kBucket || part == Part::kCount || part == Part::kSum ||
             (open && part == Part::kCreated);
    case FamilyType::kGaugeHistogram:
      return part == Part::kBucket || part == Part::kGaugeCount || part == Part::kGaugeSum;
    case FamilyType::kSummary:
      return part == Part::kPlain || part == Part::kCount || part == Part::kSum ||
             (open && part == Part::kCreated);
  }
  return false;
}

std::optional<uint32_t> Families::OfSample(std::string_view sample, Part* part,
                                           std::string* error) {
  for (const Suffix& suffix : kSuffixes) {
    if (!EndsWith(sample, suffix.text)) continue;
    const auto found = by_name_.find(sample.substr(0, sample.size() - suffix.text.size()));
    if (found == by_name_.end()) continue;
    const Family& family = families_[found->second];
    if (!family.typed || !Has(family.type, suffix.part)) continue;
    *part = suffix.part;
    return found->second;
  }
  *part = Part::kPlain;
  const uint32_t family = Named(sample);
  const FamilyType type = families_[family].type;
  if (Has(type, Part::kPlain)) return family;
  std::string parts;
  for (const Suffix& suffix : kSuffixes) {
    if (Has(type, suffix.part)) CatTo(parts, parts.empty() ? "" : ", ", sample, suffix.text);
  }
  *error =
      Cat("the samples of a family of type ", NameOf(type), " are ", parts, "; none is ", sample);
  return std::nullopt;
}

bool Families::Enter(uint32_t family) {
  if (family == current_) return true;
  if (current_ != UINT32_MAX) families_[current_].closed = true;
  current_ = family;
  Family& entered = families_[family];
  if (!entered.closed) return true;
  // Database dumps have no metadata and sort their series by labels, so their families may
  // interleave.
  return dialect_ == Dialect::kPrometheusText || !entered.declared();
}

std::string Families::CheckLabels(uint32_t family, Part part, std::span<const Label> labels) const {
  const Family& f = families_[family];
  const auto number = [&](std::string_view name) -> std::string {
    const Label* label = Find(labels, name);
    if (label == nullptr)
      return Cat("a sample of this ", NameOf(f.type), " needs the label ", name);
    const auto value = ParseDouble(label->value);
    if (!value.has_value() || std::isnan(*value))
      return Cat("the label ", name, " must be a number, not ", Quote(label->value));
    if (name == "quantile" && (*value < 0 || *value > 1))
      return Cat("the label quantile must be between 0 and 1, not ", label->value);
    return "";
  };
  if (part == Part::kBucket) return number("le");
  if (f.type == FamilyType::kSummary && part == Part::kPlain) return number("quantile");
  if (f.type == FamilyType::kStateSet && Find(labels, f.name) == nullptr)
    return Cat("a sample of this stateset needs the label ", f.name);
  return "";
}

std::string Families::CheckValue(uint32_t family, Part part, double value) const {
  if (dialect_ == Dialect::kPrometheusText) return "";
  const FamilyType type = families_[family].type;
  if (type == FamilyType::kInfo && value != 1) return "the value of an info must be 1";
  if (type == FamilyType::kStateSet && value != 0 && value != 1)
    return "the value of a stateset must be 0 or 1";
  const bool counts = part == Part::kTotal || part == Part::kBucket || part == Part::kCount ||
                      part == Part::kGaugeCount;
  if (counts && !(value >= 0)) return Cat("a sample that counts cannot be ", FormatDouble(value));
  return "";
}

void Families::NormalizeNumbers(uint32_t family, std::vector<Label>* labels) const {
  const FamilyType type = families_[family].type;
  const std::string_view name = type == FamilyType::kSummary     ? "quantile"
                                : type == FamilyType::kHistogram ? "le"
                                                                 : "";
  if (name.empty()) return;
  for (Label& label : *labels) {
    if (label.name != name) continue;
    const auto value = ParseDouble(label.value);
    if (!value.has_value()) return;
    label.value = FormatDouble(*value);
    if (std::isfinite(*value) && label.value.find_first_of(".e") == std::string::npos)
      label.value += ".0";
  }
}

}  // namespace pitwall::openmetrics
