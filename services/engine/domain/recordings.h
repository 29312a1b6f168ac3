// Observer for samples that recording rules write during a replay. Used by tools that store the
// samples.
#pragma once

#include "services/engine/program/event_sink.h"
#include "services/engine/recording/rule_observer.h"
#include "services/model/value.h"

namespace pitwall::engine {

class RecordingObserver {
 public:
  virtual ~RecordingObserver() = default;
  // Receives a sample from a recording rule, on the clock of the rule's group. Also receives ALERTS
  // samples if a selector reads ALERTS. Does not receive stale markers.
  virtual void Recorded(const JobIdentity& job, const ClockSpec& clock, const EvalTime& at,
                        const Labels& labels, double value) = 0;
};

// Adapter from one job's domain to the shared observer. `job` and `to` are borrowed.
class SpaceRecordings final : public RuleObserver {
 public:
  SpaceRecordings(const JobIdentity* job, ClockSpec clock, RecordingObserver* to)
      : job_(job), clock_(std::move(clock)), to_(to) {}
  void Failed(const plan::Rule&, const Status&) override {}
  void Alerts(const alert::AlertInput&, const alert::AlertState&) override {}
  void TickBegins(const EvalTime& at) override { at_ = at; }
  void Recorded(const Labels& labels, Position /*position*/, double value) override {
    if (!IsStale(value)) to_->Recorded(*job_, clock_, at_, labels, value);
  }
  void Unread(const Labels& labels, Position position, double value) override {
    Recorded(labels, position, value);
  }

 private:
  const JobIdentity* const job_;
  const ClockSpec clock_;
  RecordingObserver* const to_;
  EvalTime at_;
};

}  // namespace pitwall::engine
