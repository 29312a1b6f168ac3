// Test helper: life cycles of alerts as tables of ticks.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rules/alert/alert_state.h"
#include "services/base/text/strings.h"

namespace pitwall::alert {

// A result with the given elements. Other elements of `superset` are bound but absent.
struct Elements {
  eval::LabelColumnPtr column;
  std::vector<double> values;
  std::vector<uint8_t> present;

  eval::Vector View() const {
    eval::Vector v;
    v.column = column;
    v.binding = column->binding();
    v.values = values;
    v.present = present;
    return v;
  }
};

inline Elements Absent(eval::LabelColumnPtr column) {
  Elements e;
  e.values.assign(column->size(), -1);
  e.present.assign(column->size(), 0);
  e.column = std::move(column);
  return e;
}

inline eval::LabelColumnPtr ColumnOfX(const std::vector<std::string>& xs, std::string_view name) {
  std::vector<Labels> labels;
  for (const std::string& x : xs) labels.push_back(Labels({{"__name__", name}, {"x", x}}));
  return eval::LabelColumn::Of(std::move(labels));
}

// Parses "1=5 2=7" into elements x="1" with value 5 and x="2" with 7. "1" alone has value 1.
inline Elements Parse(const eval::LabelColumnPtr& column, std::string_view text) {
  Elements e = Absent(column);
  for (const std::string_view word : Split(text, ' ')) {
    if (word.empty()) continue;
    const size_t at = word.find('=');
    const std::string_view x = word.substr(0, at);
    for (size_t i = 0; i < column->size(); ++i) {
      if ((*column)[i].Get("x") != x) continue;
      e.present[i] = 1;
      e.values[i] = at == std::string_view::npos ? 1 : *ParseDouble(word.substr(at + 1));
    }
  }
  return e;
}

struct ScriptTick {
  int64_t seconds;
  std::string expr;
  std::string want;           // transitions, separated by "; "
  std::string subject = "-";  // "-" if there is no such input
  std::string clear = "-";
  std::string clear_subject = "-";
};

class AlertScript {
 public:
  plan::Rule rule;
  plan::DomainPlan domain;
  uint32_t limit = 0;
  AlertOptions options;
  std::vector<double> parameters;
  bool other_binding_each_tick = false;

  AlertScript() {
    rule.name = "pack/group/Hot";
    rule.alert = "Hot";
    rule.file = "f.yaml";
    rule.line = 7;
  }

  static std::string Show(const Transition& t) {
    std::string out = Cat(TransitionKindName(t.kind), " ", t.labels.Get("x"), "=",
                          FormatDouble(t.value), " since ", t.active.position.ns() / 1'000'000'000);
    if (t.sequence > 0)
      CatTo(out, " fired ", t.started.position.ns() / 1'000'000'000, " #", t.sequence);
    if (t.kind == TransitionKind::kResolved) CatTo(out, " ", EndReasonName(t.end_reason));
    return out;
  }
  static std::string Show(const std::vector<Transition>& transitions) {
    std::string out;
    for (const Transition& t : transitions) CatTo(out, out.empty() ? "" : "; ", Show(t));
    return out;
  }

  AlertState Make() const {
    auto made = AlertRule::Make(domain, rule, limit);
    EXPECT_TRUE(made.ok()) << made.status();
    return AlertState(*made, options);
  }

  // Runs the table on one state, and on a second one that is saved and restored after every tick.
  // Both must return the same results and save bit-identical data.
  void Run(const std::vector<ScriptTick>& ticks) {
    AlertState state = Make();
    std::string saved;
    eval::LabelColumnPtr column;
    for (const ScriptTick& tick : ticks) {
      SCOPED_TRACE(Cat("at ", tick.seconds, " s"));
      if (column == nullptr || other_binding_each_tick) {
        column = other_binding_each_tick && tick.seconds % 20 == 10
                     ? ColumnOfX({"0", "1", "2", "3", "4"}, "a")
                     : ColumnOfX({"1", "2", "3"}, "a");
      }
      const auto input_of = [&](const std::string& text, std::optional<Elements>* holder,
                                eval::Vector* view) -> const eval::Vector* {
        if (text == "-") return nullptr;
        *holder = Parse(column, text);
        *view = (*holder)->View();
        return view;
      };
      std::optional<Elements> e[4];
      eval::Vector v[4];
      AlertInput input;
      input.at.time = EventTime::FromNs(tick.seconds * 1'000'000'000);
      input.at.position = PositionOf(input.at.time);
      input.expr = input_of(tick.expr, &e[0], &v[0]);
      input.subject = input_of(tick.subject, &e[1], &v[1]);
      input.clear = input_of(tick.clear, &e[2], &v[2]);
      input.clear_subject = input_of(tick.clear_subject, &e[3], &v[3]);
      input.parameters = parameters;

      std::vector<Transition> got;
      const Status status = state.Step(input, &got);
      EXPECT_EQ(status.ok() ? Show(got) : std::string(ToStd(status.message())), tick.want);

      AlertState second = Make();
      if (!saved.empty()) {
        BinaryReader reader(saved);
        second.Restore(reader);
        ASSERT_TRUE(reader.Finish("state").ok());
      }
      std::vector<Transition> again;
      EXPECT_EQ(second.Step(input, &again), status);
      EXPECT_EQ(Show(again), Show(got));
      for (size_t i = 0; i < again.size() && i < got.size(); ++i) {
        EXPECT_EQ(again[i].annotations, got[i].annotations);
        EXPECT_EQ(again[i].labels, got[i].labels);
        EXPECT_EQ(again[i].root_cause, got[i].root_cause);
      }
      BinaryWriter first_bytes, second_bytes;
      state.Save(first_bytes);
      second.Save(second_bytes);
      EXPECT_EQ(first_bytes.data(), second_bytes.data());
      EXPECT_EQ(state.firing(), second.firing());
      EXPECT_EQ(state.pending(), second.pending());
      saved = first_bytes.data();
    }
  }
};

}  // namespace pitwall::alert
