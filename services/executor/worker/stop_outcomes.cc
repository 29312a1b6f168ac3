#include "services/executor/worker/stop_outcomes.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::executor {

void StopOutcomes::Finish(const ActionEvent& decision, std::string effect, bool stopped) {
  ActionEvent done = OutcomeOf(decision, ActionEventType::kDone);
  done.effect = std::move(effect);
  if (stopped) stopped_.insert(done.id);
  pending_.push_back(std::move(done));
}

void StopOutcomes::Refuse(const ActionEvent& decision, std::string_view reason) {
  ActionEvent refused = OutcomeOf(decision, ActionEventType::kRefused);
  CatTo(refused.why, "; refused: ", reason);
  pending_.push_back(std::move(refused));
}

void StopOutcomes::DropRecorded(const DecisionIndex& index) {
  std::erase_if(pending_, [&](const ActionEvent& done) { return index.Done(done.issue); });
}

}  // namespace pitwall::executor
