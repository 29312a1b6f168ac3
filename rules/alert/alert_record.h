// One alert as AlertState keeps it, and its saved form.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rules/alert/alert_state.h"
#include "rules/alert/element_lookup.h"
#include "rules/alert/label_codec.h"

namespace pitwall::alert {

inline constexpr int64_t kNever = INT64_MIN;

using Annotations = std::vector<std::pair<std::string, std::string>>;

struct Alert {
  Labels labels;
  Labels element;
  bool firing = false;
  double value = 0;
  EvalTime active, started, last_seen;
  int64_t can_end_since = kNever;  // tick; keep_firing_for counts from here
  uint64_t sequence = 0;
  int64_t last_event_ns = 0;
  Annotations annotations;     // as last reported
  uint64_t expanded_bits = 0;  // of the value at the last expansion of the annotations
  bool text_stale = false;     // they may say something else now, whatever the value
  bool rule_changed = false;   // the rule's are others since, and no tick has seen it yet
  std::string root_cause;
  bool root_cause_changed = false;
  // Saved by Recurrence, for rules with `unsteady`.
  uint64_t times = 0;               // how often it fired in a row; 1: steady
  int64_t since_ns = 0;             // the first of these
  int64_t clear_since_ns = kNever;  // an end has been due since then

  // Not part of the state: follows from it, or is scratch of one Step.
  Labels alerts_series, for_state_series;  // as NameSeries made them; empty: not asked for yet
  ElementLookup subject;
  ElementLookup clear{ElementLookup::kAny}, clear_subject{ElementLookup::kAny};
  int64_t place = -1;    // in the column of expr, -1: not there
  uint64_t seen = 0;     // serial of the Step that saw it
  uint32_t seen_at = 0;  // its element then
  enum class Fate { kStay, kEnd, kDrop } fate = Fate::kStay;
  int64_t next_can_end_since = kNever;
  int64_t next_clear_since_ns = kNever;
};

void SaveEvalTime(BinaryWriter& out, const EvalTime& moment);
EvalTime ReadEvalTime(BinaryReader& in);
void SaveAnnotations(const Annotations& annotations, BinaryWriter& out);
Annotations ReadAnnotations(BinaryReader& in);

// Makes the labels of its ALERTS and ALERTS_FOR_STATE series, by its state: seldom wanted.
void NameSeries(const AlertRule& rule, Alert& alert);

// Appends what happened to it.
void Report(TransitionKind kind, const Alert& alert, const EvalTime& at,
            std::vector<Transition>* out);

// `labels` and `elements` write (read) those of all alerts, in order.
void SaveAlert(const Alert& alert, LabelsWriter& labels, LabelsWriter& elements, BinaryWriter& out);
Alert ReadAlert(LabelsReader& labels, LabelsReader& elements, BinaryReader& in);

}  // namespace pitwall::alert
