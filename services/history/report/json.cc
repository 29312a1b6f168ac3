#include "services/history/report/json.h"

#include "services/codec/json/json_fields.h"

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
    out_.Key("sections");
    out_.BeginArray();
    for (const Section& section : document.sections) {
      out_.BeginObject();
      Text("id", section.id);
      Text("title", section.title);
      out_.Key("blocks");
      out_.BeginArray();
      for (const Block& block : section.blocks) {
        out_.BeginObject();
        std::visit([this](const auto& one) { Fields(one); }, block);
        out_.EndObject();
      }
      out_.EndArray();
      out_.EndObject();
    }
    out_.EndArray();
    out_.EndObject();
    return out_.Take();
  }

 private:
  void Text(std::string_view key, std::string_view text) { TextField(key, text, &out_); }
  void Number(double value) { WriteNumber(value, &out_); }
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
    out_.Key("facts");
    out_.BeginArray();
    for (const Fact& fact : facts.facts) {
      out_.BeginObject();
      Text("key", fact.key);
      Text("title", fact.title);
      Text("unit", UnitName(fact.unit));
      Key("value", fact.value, fact.unit);
      out_.EndObject();
    }
    out_.EndArray();
  }

  void Fields(const Table& table) {
    Head("table", table.id, table.caption);
    out_.Key("columns");
    out_.BeginArray();
    for (const Column& column : table.columns) {
      out_.BeginObject();
      Text("key", column.key);
      Text("title", column.title);
      Text("unit", UnitName(column.unit));
      out_.EndObject();
    }
    out_.EndArray();
    out_.Key("rows");
    out_.BeginArray();
    for (const Row& row : table.rows) {
      out_.BeginArray();
      for (size_t i = 0; i < row.size(); ++i) Value(row[i], table.columns[i].unit);
      out_.EndArray();
    }
    out_.EndArray();
    out_.Key("left_out");
    out_.Uint(table.left_out);
  }

  void Fields(const LineChart& chart) {
    Head("lines", chart.id, chart.caption);
    Text("x_unit", UnitName(chart.x));
    Text("y_unit", UnitName(chart.y));
    out_.Key("threshold");
    chart.threshold.has_value() ? Number(*chart.threshold) : out_.Null();
    out_.Key("stretches");
    out_.BeginArray();
    for (const Stretch& stretch : chart.stretches) {
      out_.BeginObject();
      Text("name", stretch.name);
      out_.Key("from");
      Integer(stretch.from, chart.x);
      out_.Key("to");
      Integer(stretch.to, chart.x);
      out_.EndObject();
    }
    out_.EndArray();
    out_.Key("lines");
    out_.BeginArray();
    for (const Line& line : chart.lines) {
      out_.BeginObject();
      Text("name", line.name);
      out_.Key("x");
      out_.BeginArray();
      for (const int64_t x : line.x) Integer(x, chart.x);
      out_.EndArray();
      out_.Key("y");
      out_.BeginArray();
      for (const double y : line.y) Number(y);
      out_.EndArray();
      out_.EndObject();
    }
    out_.EndArray();
  }

  void Fields(const BarChart& chart) {
    Head("bars", chart.id, chart.caption);
    Text("unit", UnitName(chart.unit));
    out_.Key("whole");
    out_.Bool(chart.whole);
    out_.Key("bars");
    out_.BeginArray();
    for (const Bar& bar : chart.bars) {
      out_.BeginObject();
      Text("name", bar.name);
      out_.Key("value");
      Number(bar.value);
      out_.EndObject();
    }
    out_.EndArray();
  }

  void Fields(const BoxChart& chart) {
    Head("boxes", chart.id, chart.caption);
    Text("unit", UnitName(chart.unit));
    out_.Key("boxes");
    out_.BeginArray();
    for (const Box& box : chart.boxes) {
      out_.BeginObject();
      Text("name", box.name);
      const std::pair<std::string_view, double> values[] = {
          {"min", box.min}, {"p5", box.p5},   {"p25", box.p25}, {"p50", box.p50},
          {"p75", box.p75}, {"p95", box.p95}, {"max", box.max}};
      for (const auto& [key, value] : values) {
        out_.Key(key);
        Number(value);
      }
      out_.EndObject();
    }
    out_.EndArray();
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
