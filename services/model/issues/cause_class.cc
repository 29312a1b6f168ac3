#include "services/model/issues/cause_class.h"

#include <algorithm>
#include <iterator>

#include "services/model/issues/incident_roots.h"

namespace pitwall {
namespace {

struct CategoryDomain {
  std::string_view category;
  CauseDomain domain;
};
// Categories of the shipped packs. Network, storage, and memory are machine resources whose faults
// explain deaths and hangs.
constexpr CategoryDomain kDomains[] = {
    {"hardware", CauseDomain::kMachine},
    {"network", CauseDomain::kMachine},
    {"storage", CauseDomain::kMachine},
    {"memory", CauseDomain::kMachine},
    {"death", CauseDomain::kProcess},
    {"hang", CauseDomain::kProcess},
    {"application", CauseDomain::kProcess},
    {"numerics", CauseDomain::kNumerics},
    {"optimization", CauseDomain::kNumerics},
    {"data", CauseDomain::kNumerics},
    {"reproducibility", CauseDomain::kNumerics},
    {"straggler", CauseDomain::kPerformance},
    {"progress", CauseDomain::kPerformance},
    {"bottleneck", CauseDomain::kPerformance},
    {"efficiency", CauseDomain::kPerformance},
    {"checkpoint", CauseDomain::kPerformance},
    {"initialization", CauseDomain::kPerformance},
};

}  // namespace

CauseDomain CauseDomainOf(std::string_view category) {
  const auto* found = std::ranges::find(kDomains, category, &CategoryDomain::category);
  return found == std::end(kDomains) ? CauseDomain::kOther : found->domain;
}

CauseClass CauseClassOf(const Labels& labels) {
  const std::string_view category = labels.Get("category");
  if (category == "death") return CauseClass::kHardEvent;
  if (labels.Get("severity") == "critical" && (category == "hardware" || category == "numerics"))
    return CauseClass::kHardEvent;
  if (category == "hang") return CauseClass::kHang;
  return labels.Has("rank") || labels.Has("node") ? CauseClass::kNamed : CauseClass::kJobWide;
}

bool MayExplain(std::string_view cause, std::string_view symptom) {
  const CauseDomain of_symptom = CauseDomainOf(symptom);
  const bool fault = symptom == "hardware" || symptom == "death";
  switch (CauseDomainOf(cause)) {
    case CauseDomain::kMachine:
    case CauseDomain::kOther:
      return true;
    case CauseDomain::kProcess:
      return symptom != "hardware" && of_symptom != CauseDomain::kNumerics;
    case CauseDomain::kNumerics:
      return !fault;
    case CauseDomain::kPerformance:
      return !fault && of_symptom != CauseDomain::kNumerics;
  }
  return true;
}

RootOrder RootOrderOf(const Labels& labels, EventTime onset) {
  return {CauseClassOf(labels), SeverityRank(labels.Get("severity")), onset};
}

RootOrder RootOrderOf(const IssueEvent& event) {
  return RootOrderOf(event.labels, event.active_since);
}

bool AreRivals(const RootOrder& a, const RootOrder& b, Duration apart) {
  return a.cause_class == b.cause_class && a.severity == b.severity &&
         std::max(a.onset, b.onset) - std::min(a.onset, b.onset) <= apart;
}

}  // namespace pitwall
