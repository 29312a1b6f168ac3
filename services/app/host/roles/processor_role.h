// Processor in this process and its rule set.
#pragma once

#include <memory>
#include <string_view>

#include "services/app/config/config.h"
#include "services/app/host/history_routes.h"
#include "services/app/host/service.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/system/memory_budget.h"
#include "services/io/io.h"
#include "services/processor/parameter_change_handler.h"
#include "services/processor/processor.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// Returns the options for a processor. `memory` is borrowed and may be null.
processor::ProcessorOptions ProcessorOptionsOf(const Config& config, MemoryBudget* memory);

// All pointers are borrowed.
class ProcessorRole final : public Service {
 public:
  ProcessorRole(Clock* clock, Log* log, self_metrics::Exposition* exposition)
      : clock_(clock), log_(log), exposition_(exposition) {}

  std::string_view name() const override { return "processor"; }
  // Compiles the rules, starts the processor, and waits up to three seconds until the rules are
  // active.
  Status Start(const Config& config) override;
  void Stop() override;
  // Returns the first partition fault, or OK.
  Status Health() const override;
  // Returns the reason why the processor does not evaluate rules yet, or OK.
  Status Ready() const override;
  // Compiles and activates the reloaded rules.
  Status Reload(const Config& fresh) override;

  const RulesInForce& rules_in_force() const { return rules_in_force_; }

 private:
  Clock* const clock_;
  Log* const log_;
  self_metrics::Exposition* const exposition_;
  std::unique_ptr<MemoryBudget> memory_;
  std::unique_ptr<processor::Processor> processor_;
  std::unique_ptr<processor::ParameterChangeHandler> parameters_;
  RulesInForce rules_in_force_;
};

}  // namespace pitwall
