#include "rules/alert/alert_record.h"

namespace pitwall::alert {

void AlertCause::Set(std::string_view cause, bool reported) {
  if (root != cause) {
    root = cause;
    changed = true;
  }
  if (reported) changed = false;
}

void AlertLookups::Reset() {
  subject.Reset();
  clear.Reset();
  clear_subject.Reset();
}

void SaveEvalTime(BinaryWriter& out, const EvalTime& time) {
  out.I64(time.position.ns());
  out.I64(time.time.ns());
  out.I64(time.step.value());
  out.U64(time.attempt);
}

EvalTime ReadEvalTime(BinaryReader& in) {
  EvalTime time;
  time.position = Position::FromNs(in.I64());
  time.time = EventTime::FromNs(in.I64());
  time.step = Step(in.I64());
  time.attempt = in.U64();
  return time;
}

void SaveAnnotations(const Annotations& annotations, BinaryWriter& out) {
  out.U64(annotations.size());
  for (const auto& [name, text] : annotations) {
    out.Str(name);
    out.Str(text);
  }
}
Annotations ReadAnnotations(BinaryReader& in) {
  Annotations annotations;
  const size_t count = in.Count(2);
  for (size_t k = 0; k < count && in.ok(); ++k) {
    std::string name = in.Str();
    annotations.emplace_back(std::move(name), in.Str());
  }
  return annotations;
}

void NameSeries(const AlertRule& rule, Alert& alert) {
  Labels labels = alert.labels;
  for (const AlertRule::NamedTemplate& label : rule.labels()) {
    if (!alert.labels.Has(label.name)) labels = labels.With(label.name, label.source);
  }
  alert.for_state_series = labels.With(kMetricName, "ALERTS_FOR_STATE");
  alert.alerts_series =
      labels.With(kMetricName, "ALERTS").With("alertstate", alert.firing ? "firing" : "pending");
}

void Report(TransitionKind kind, const Alert& a, const EvalTime& at, std::vector<Transition>* out) {
  Transition t;
  t.kind = kind;
  t.at = at;
  t.labels = a.labels;
  t.element = a.element;
  t.value = a.value;
  t.active = a.active;
  t.started = a.started;
  t.last_seen = a.last_seen;
  t.sequence = a.sequence;
  t.annotations = a.text.annotations;
  t.root_cause = a.cause.root;
  out->push_back(std::move(t));
}

void SaveAlert(const Alert& a, LabelsWriter& labels, LabelsWriter& elements, BinaryWriter& out) {
  labels.Write(a.labels);
  elements.Write(a.element);
  out.Bool(a.firing);
  out.Double(a.value);
  SaveEvalTime(out, a.active);
  SaveEvalTime(out, a.started);
  SaveEvalTime(out, a.last_seen);
  out.I64(a.can_end_since.ns());
  out.U64(a.sequence);
  out.I64(a.last_event.ns());
  SaveAnnotations(a.text.annotations, out);
  out.U64(a.text.expanded_bits);
  out.Bool(a.text.stale);
  out.Bool(a.text.rule_changed);
  out.Str(a.cause.root);
  out.Bool(a.cause.changed);
}

Alert ReadAlert(LabelsReader& labels, LabelsReader& elements, BinaryReader& in) {
  Alert a;
  a.labels = labels.Read();
  a.element = elements.Read();
  a.firing = in.Bool();
  a.value = in.Double();
  a.active = ReadEvalTime(in);
  a.started = ReadEvalTime(in);
  a.last_seen = ReadEvalTime(in);
  a.can_end_since = Position::FromNs(in.I64());
  a.sequence = in.U64();
  a.last_event = EventTime::FromNs(in.I64());
  a.text.annotations = ReadAnnotations(in);
  a.text.expanded_bits = in.U64();
  a.text.stale = in.Bool();
  a.text.rule_changed = in.Bool();
  a.cause.root = in.Str();
  a.cause.changed = in.Bool();
  return a;
}

}  // namespace pitwall::alert
