#include "services/history/report/json.h"

#include "services/codec/json/json_fields.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using codec::JsonWriter;

constexpr std::string_view kTones[] = {"plain", "good", "note", "bad"};

class Writer {
 public:
  std::string Write(const Document& document) {
    out_.BeginObject();
    Text("job", document.job);
    Text("name", document.name);
    Text("state", document.state);
    Key("from_ns", TimeCell(document.from_ns), Unit::kTime);
    Key("as_of_ns", TimeCell(document.as_of_ns), Unit::kTime);
    Text("version", document.version);
    Text("link", document.link);
    Objects("sections", document.sections, [&](const Section& section) {
      Text("id", section.id);
      Text("title", section.title);
      Objects("blocks", section.blocks, [this](const Block& block) {
        std::visit([this](const auto& one) { Fields(one); }, block);
      });
    });
    out_.EndObject();
    return out_.Take();
  }

 private:
  void Text(std::string_view key, std::string_view text) { TextField(key, text, &out_); }
  void Number(double value) { WriteNumber(value, &out_); }
  template <typename List, typename WriteFields>
  void Objects(std::string_view key, const List& list, const WriteFields& fields) {
    ObjectsField(key, list, &out_, fields);
  }
  void Integer(int64_t value, Unit unit) {
    unit == Unit::kTime ? WriteNs(value, &out_) : out_.Int(value);
  }
  void Value(const Cell& cell, Unit unit) {
    if (const auto* text = std::get_if<std::string>(&cell)) return out_.String(*text);
    if (const auto* integer = std::get_if<int64_t>(&cell)) return Integer(*integer, unit);
    if (const auto* number = std::get_if<double>(&cell)) return Number(*number);
    out_.Null();
  }
  void Key(std::string_view key, const Cell& cell, Unit unit) {
    out_.Key(key);
    Value(cell, unit);
  }
  void Head(std::string_view kind, std::string_view id, std::string_view caption) {
    Text("kind", kind);
    Text("id", id);
    Text("caption", caption);
  }

  void Fields(const Paragraph& text) {
    Text("kind", "text");
    Text("id", text.id);
    Text("tone", kTones[static_cast<size_t>(text.tone)]);
    Text("text", text.text);
  }

  void Fields(const Facts& facts) {
    Head("facts", facts.id, facts.caption);
    Objects("facts", facts.facts, [this](const Fact& fact) {
      Text("key", fact.key);
      Text("title", fact.title);
      Text("unit", UnitName(fact.unit));
      Key("value", fact.value, fact.unit);
    });
  }

  void Fields(const Table& table) {
    Head("table", table.id, table.caption);
    Objects("columns", table.columns, [this](const Column& column) {
      Text("key", column.key);
      Text("title", column.title);
      Text("unit", UnitName(column.unit));
    });
    ArrayField("rows", table.rows, &out_, [&](const Row& row) {
      out_.BeginArray();
      for (size_t i = 0; i < row.size(); ++i) Value(row[i], table.columns[i].unit);
      out_.EndArray();
    });
    CountField("left_out", table.left_out, &out_);
  }

  void Fields(const LineChart& chart) {
    Head("lines", chart.id, chart.caption);
    Text("x_unit", UnitName(chart.x));
    Text("y_unit", UnitName(chart.y));
    NumberField("threshold", chart.threshold.value_or(NormalNan()), &out_);
    Objects("stretches", chart.stretches, [&](const Stretch& stretch) {
      Text("name", stretch.name);
      out_.Key("from");
      Integer(stretch.from, chart.x);
      out_.Key("to");
      Integer(stretch.to, chart.x);
    });
    Objects("lines", chart.lines, [&](const Line& line) {
      Text("name", line.name);
      ArrayField("x", line.x, &out_, [&](int64_t x) { Integer(x, chart.x); });
      NumbersField("y", line.y, &out_);
    });
  }

  void Fields(const BarChart& chart) {
    Head("bars", chart.id, chart.caption);
    Text("unit", UnitName(chart.unit));
    BoolField("whole", chart.whole, &out_);
    Objects("bars", chart.bars, [this](const Bar& bar) {
      Text("name", bar.name);
      NumberField("value", bar.value, &out_);
    });
  }

  void Fields(const BoxChart& chart) {
    Head("boxes", chart.id, chart.caption);
    Text("unit", UnitName(chart.unit));
    Objects("boxes", chart.boxes, [this](const Box& box) {
      Text("name", box.name);
      const std::pair<std::string_view, double> values[] = {
          {"min", box.min}, {"p5", box.p5},   {"p25", box.p25}, {"p50", box.p50},
          {"p75", box.p75}, {"p95", box.p95}, {"max", box.max}};
      for (const auto& [key, value] : values) NumberField(key, value, &out_);
    });
  }

  JsonWriter out_;
};

}  // namespace

std::string_view UnitName(Unit unit) {
  constexpr std::string_view kNames[] = {"text",  "name",    "count", "number",
                                         "ratio", "seconds", "bytes", "bytes_per_second",
                                         "time",  "step",    "text"};
  return kNames[static_cast<size_t>(unit)];
}

std::string ReportJson(const Document& document) { return Writer().Write(document); }

}  // namespace pitwall::history
