#include "services/history/api/chart_columns.h"

#include <bit>
#include <cstring>

#include "services/history/api/json_fields.h"
#include "services/history/views/steps/buckets.h"

namespace pitwall::history {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
void Append(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

void Align(std::string* out) { out->append((8 - out->size() % 8) % 8, '\0'); }

void WriteFrame(const Chart& chart, size_t width, JsonWriter* out) {
  TextField("axis", chart.by_step ? "step" : "time", out);
  if (chart.by_step) {
    IndexField("from_step", chart.from, out);
    IndexField("to_step", chart.to, out);
  } else {
    NsField("from_ns", chart.from, out);
    NsField("to_ns", chart.to, out);
  }
  CountField("width", width, out);
  TextField("tier", TierName(chart.tier), out);
  TextField("reduction", chart.bucket == 0 ? "none" : "min_max_last", out);
  out->Key(chart.by_step ? "bucket_steps" : "bucket_ns");
  if (chart.bucket == 0) {
    out->Null();
  } else if (chart.by_step) {
    out->Int(chart.bucket);
  } else {
    WriteNs(chart.bucket, out);
  }
}

void WriteSeries(const ChartColumn& column, JsonWriter* out) {
  LabelsField("labels", column.labels, out);
  TextField("kind", column.kind == SeriesKind::kCounter ? "counter" : "gauge", out);
}

void WriteColumn(std::string_view key, const ChartColumn& column, double ChartRow::*member,
                 JsonWriter* out) {
  std::vector<double> values;
  values.reserve(column.rows.size());
  for (const ChartRow& row : column.rows) values.push_back(row.*member);
  NumbersField(key, values, out);
}

// Estimated size of a row: a quoted time and three mostly short numbers.
constexpr size_t kRowBytes = 50;

constexpr double ChartRow::*kMembers[] = {&ChartRow::min, &ChartRow::max, &ChartRow::last};

}  // namespace

std::string ChartJson(const Chart& chart, size_t width) {
  JsonWriter out;
  size_t rows = 0;
  for (const ChartColumn& column : chart.columns) rows += column.rows.size();
  out.Reserve(chart.columns.size() * 300 + rows * kRowBytes);
  out.BeginObject();
  WriteFrame(chart, width, &out);
  ObjectsField("series", chart.columns, &out, [&](const ChartColumn& column) {
    WriteSeries(column, &out);
    ArrayField(chart.by_step ? "steps" : "times_ns", column.rows, &out, [&](const ChartRow& row) {
      chart.by_step ? out.Int(row.at) : WriteNs(row.at, &out);
    });
    WriteColumn("min", column, &ChartRow::min, &out);
    WriteColumn("max", column, &ChartRow::max, &out);
    WriteColumn("last", column, &ChartRow::last, &out);
  });
  out.EndObject();
  return out.Take();
}

std::string ChartBinary(const Chart& chart, size_t width) {
  JsonWriter header;
  header.BeginObject();
  WriteFrame(chart, width, &header);
  ObjectsField("series", chart.columns, &header, [&](const ChartColumn& column) {
    WriteSeries(column, &header);
    CountField("rows", column.rows.size(), &header);
  });
  header.EndObject();
  const std::string json = header.Take();
  std::string out = "PWC1";
  Append(static_cast<uint32_t>(json.size()), &out);
  out += json;
  Align(&out);
  for (const ChartColumn& column : chart.columns) {
    for (const ChartRow& row : column.rows)
      Append(chart.by_step ? static_cast<double>(row.at) : static_cast<double>(row.at) / 1e6, &out);
    for (const auto member : kMembers) {
      for (const ChartRow& row : column.rows) Append(static_cast<float>(row.*member), &out);
    }
    Align(&out);
  }
  return out;
}

}  // namespace pitwall::history
