#include "rules/alert/alert_record.h"

namespace pitwall::alert {
void SaveEvalTime(BinaryWriter& out, const EvalTime& m) {
  out.I64(m.position);
  out.I64(m.time_ns);
  out.I64(m.step);
  out.U64(m.attempt);
}
EvalTime ReadEvalTime(BinaryReader& in) {
  EvalTime m;
  m.position = in.I64();
  m.time_ns = in.I64();
  m.step = in.I64();
  m.attempt = in.U64();
  return m;
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
  t.annotations = a.annotations;
  t.root_cause = a.root_cause;
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
  out.I64(a.can_end_since);
  out.U64(a.sequence);
  out.I64(a.last_event_ns);
  SaveAnnotations(a.annotations, out);
  out.U64(a.expanded_bits);
  out.Bool(a.text_stale);
  out.Bool(a.rule_changed);
  out.Str(a.root_cause);
  out.Bool(a.root_cause_changed);
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
  a.can_end_since = in.I64();
  a.sequence = in.U64();
  a.last_event_ns = in.I64();
  a.annotations = ReadAnnotations(in);
  a.expanded_bits = in.U64();
  a.text_stale = in.Bool();
  a.rule_changed = in.Bool();
  a.root_cause = in.Str();
  a.root_cause_changed = in.Bool();
  return a;
}

}  // namespace pitwall::alert
