// Reader of /proc/net/snmp: the node's TCP segments.
#include <array>
#include <optional>

#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

constexpr std::array<std::string_view, 2> kNames = {
    "system_network_tcp_segments_sent_total", "system_network_tcp_segments_retransmitted_total"};
constexpr std::array<std::string_view, 2> kColumns = {"OutSegs", "RetransSegs"};

class TcpReader final : public SeriesReader {
 public:
  explicit TcpReader(const ReaderContext& context)
      : context_(context), file_(HostNetFile(context.root, "snmp")) {}

  bool Read() override {
    values_.fill(MissingValue());
    const auto text = file_.Read();
    if (!text.has_value() || !Parse(*text))
      context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
    const bool found = found_ || !IsMissing(values_[0]);
    return std::exchange(found_, found) != found;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    if (!found_) return;
    for (std::string_view name : kNames)
      out->push_back(NodeSeries(context_, SeriesKind::kCounter, name, {}));
  }

  double* Fill(double* row) const override {
    if (!found_) return row;
    for (double value : values_) *row++ = value;
    return row;
  }

 private:
  // Parses the two lines that start with "Tcp:", which contain the column names and the numbers.
  bool Parse(std::string_view text) {
    TextScan lines(text);
    std::string_view line, names;
    while (lines.Line(&line)) {
      TextScan words(line);
      if (words.Word() != "Tcp:") continue;
      if (names.empty()) {
        names = words.rest();
        continue;
      }
      TextScan heads(names);
      std::array<std::optional<uint64_t>, kColumns.size()> found;
      for (std::string_view head = heads.Word(); !head.empty(); head = heads.Word()) {
        const std::string_view word = words.Word();
        for (size_t i = 0; i < kColumns.size(); ++i) {
          if (head == kColumns[i]) found[i] = TextScan::ToNumber(word);
        }
      }
      if (!found[0].has_value() || !found[1].has_value()) return false;
      values_ = {static_cast<double>(*found[0]), static_cast<double>(*found[1])};
      return true;
    }
    return false;
  }

  const ReaderContext context_;
  ProcFile file_;
  std::array<double, 2> values_{};
  bool found_ = false;
};

}  // namespace

std::unique_ptr<SeriesReader> NewTcpReader(const SystemContext& context) {
  return std::make_unique<TcpReader>(context);
}

}  // namespace pitwall::collector
