// One alert of a rule, with its serialization.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rules/alert/alert_rule.h"
#include "rules/alert/element_lookup.h"
#include "rules/alert/label_codec.h"
#include "rules/alert/transition.h"
#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/eval_time.h"
#include "services/model/labels.h"

namespace pitwall::alert {

using Annotations = std::vector<std::pair<std::string, std::string>>;

// Text of a firing alert.
struct AlertText {
  Annotations annotations;     // as last reported
  uint64_t expanded_bits = 0;  // bits of the value at the last expansion
  bool stale = false;          // may have changed although the value did not
  bool rule_changed = false;   // new annotations, and no tick has seen the alert since
};

struct AlertCause {
  std::string root;
  bool changed = false;  // not yet part of an event

  void Set(std::string_view cause, bool reported);
};

// Consecutive occurrences of an alert, for rules with `unsteady`. Saved by Recurrence.
struct AlertReturns {
  uint64_t times = 0;                        // 1 if steady
  EventTime since;                           // start of the first occurrence
  EventTime clear_since = EventTime::Min();  // time since which an end has been due; Min() if never
};

// Elements of other results that belong to the alert.
struct AlertLookups {
  ElementLookup subject;
  ElementLookup clear{ElementLookup::kAny}, clear_subject{ElementLookup::kAny};

  void Reset();
};

// State within one step.
struct AlertStep {
  uint64_t seen = 0;     // serial number of the last step in which expr had the alert
  uint32_t seen_at = 0;  // its element in that step
  enum class Fate { kStay, kEnd, kDrop } fate = Fate::kStay;
  // New values of Alert::can_end_since and AlertReturns::clear_since.
  Position next_can_end_since = Position::Min();
  EventTime next_clear_since = EventTime::Min();
};

struct Alert {
  Labels labels;
  Labels element;
  bool firing = false;
  double value = 0;
  EvalTime active, started, last_seen;
  Position can_end_since = Position::Min();  // start of keep_firing_for; Min() if not started
  uint64_t sequence = 0;
  EventTime last_event;
  AlertText text;
  AlertCause cause;
  AlertReturns returns;

  // The following members are not part of the saved state.
  Labels alerts_series, for_state_series;  // set by NameSeries; empty before the first use
  AlertLookups lookups;
  int64_t place = -1;  // index in the column of expr; -1 if absent
  AlertStep step;
};

void SaveEvalTime(BinaryWriter& out, const EvalTime& time);
EvalTime ReadEvalTime(BinaryReader& in);
void SaveAnnotations(const Annotations& annotations, BinaryWriter& out);
Annotations ReadAnnotations(BinaryReader& in);

// Sets the labels of the alert's ALERTS and ALERTS_FOR_STATE series.
void NameSeries(const AlertRule& rule, Alert& alert);

// Appends a transition of the alert.
void Report(TransitionKind kind, const Alert& alert, const EvalTime& at,
            std::vector<Transition>* out);

// All alerts share `labels` and `elements`, in order, because label sets are encoded as
// differences.
void SaveAlert(const Alert& alert, LabelsWriter& labels, LabelsWriter& elements, BinaryWriter& out);
Alert ReadAlert(LabelsReader& labels, LabelsReader& elements, BinaryReader& in);

}  // namespace pitwall::alert
