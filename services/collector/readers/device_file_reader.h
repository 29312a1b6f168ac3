// Base of readers of a file with one line per device.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/device_rows.h"
#include "services/collector/readers/series_reader.h"
#include "services/model/value.h"

namespace pitwall::collector {

// Each device has `kColumns` series.
template <size_t kColumns>
class DeviceFileReader : public SeriesReader {
 public:
  bool Read() final {
    const auto text = file_.Read();
    valid_ = text.has_value();
    if (!valid_) {
      CountError();
      return false;
    }
    rows_.Begin();
    TextScan lines(*text);
    std::string_view line;
    while (lines.Line(&line)) ReadLine(line);
    return rows_.End();
  }

  double* Fill(double* row) const final {
    for (const auto& device : rows_.devices()) {
      for (double value : device.values) *row++ = valid_ ? value : MissingValue();
    }
    return row;
  }

 protected:
  DeviceFileReader(const ReaderContext& context, std::string path)
      : context_(context), file_(std::move(path)) {}

  // Adds the line's device to rows(), unless its series are not reported.
  virtual void ReadLine(std::string_view line) = 0;

  void CountError() { context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed); }
  const ReaderContext& context() const { return context_; }
  DeviceRows<kColumns>& rows() { return rows_; }
  const DeviceRows<kColumns>& rows() const { return rows_; }

 private:
  const ReaderContext context_;
  ProcFile file_;
  bool valid_ = false;
  DeviceRows<kColumns> rows_;
};

}  // namespace pitwall::collector
