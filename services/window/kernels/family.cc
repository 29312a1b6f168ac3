#include "services/window/kernels/family.h"

#include "services/base/check.h"
#include "services/model/windows/function_table.h"

namespace pitwall::window {

namespace baseline {
const FamilyOps& OpsOf(Family family);
std::optional<FunctionPlan> PlanOf(WindowKind kind, WindowFunction function);
CountKernel CountBelow();
}  // namespace baseline

#if defined(PITWALL_KERNELS_AVX2)
namespace avx2 {
const FamilyOps& OpsOf(Family family);
std::optional<FunctionPlan> PlanOf(WindowKind kind, WindowFunction function);
CountKernel CountBelow();
}  // namespace avx2

namespace {
bool UseAvx2() {
  static const bool use = __builtin_cpu_supports("avx2") != 0;
  return use;
}
}  // namespace

const FamilyOps& OpsOf(Family family) {
  PITWALL_CHECK(family < Family::kOrdered);
  return UseAvx2() ? avx2::OpsOf(family) : baseline::OpsOf(family);
}
std::optional<FunctionPlan> PlanOf(WindowKind kind, WindowFunction function) {
  return UseAvx2() ? avx2::PlanOf(kind, function) : baseline::PlanOf(kind, function);
}
CountKernel CountBelow() { return UseAvx2() ? avx2::CountBelow() : baseline::CountBelow(); }
#else
const FamilyOps& OpsOf(Family family) {
  PITWALL_CHECK(family < Family::kOrdered);
  return baseline::OpsOf(family);
}
std::optional<FunctionPlan> PlanOf(WindowKind kind, WindowFunction function) {
  return baseline::PlanOf(kind, function);
}
CountKernel CountBelow() { return baseline::CountBelow(); }
#endif

// This function is not one of the kernels, because code compiled with AVX2 must not be shared with
// other files.
Family FamilyOfSamples(WindowFunction function) {
  const StateFamily state = RowOf(function).state;
  if (state == StateFamily::kSketch) return Family::kSketch;
  return state == StateFamily::kSamples ? Family::kSamples : Family::kOrdered;
}

}  // namespace pitwall::window
