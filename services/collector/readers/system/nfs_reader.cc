// Reader of /proc/net/rpc/nfs: calls by the node's NFS client.
#include <array>
#include <cerrno>

#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"nfs_rpc_calls_total",
                                                    "nfs_rpc_retransmissions_total"};

class NfsReader final : public SeriesReader {
 public:
  explicit NfsReader(const ReaderContext& context)
      : context_(context), file_(HostNetFile(context.root, "rpc/nfs")) {}

  bool Read() override {
    values_.fill(MissingValue());
    const auto text = file_.Read();
    bool there = there_;
    if (text.has_value() && Parse(*text)) {
      there = true;
    } else if (!text.has_value() && (file_.error() == ENOENT || file_.error() == ENOTDIR)) {
      there = false;  // the node has no NFS client
    } else {
      context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
    }
    return std::exchange(there_, there) != there;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    if (!there_) return;
    for (std::string_view name : kNames)
      out->push_back(NodeSeries(context_, SeriesKind::kCounter, name, {}));
  }

  double* Fill(double* row) const override {
    if (!there_) return row;
    for (double value : values_) *row++ = value;
    return row;
  }

 private:
  // Parses the line "rpc <calls> <retransmissions> <credential refreshes>".
  bool Parse(std::string_view text) {
    TextScan lines(text);
    std::string_view line;
    while (lines.Line(&line)) {
      TextScan words(line);
      if (words.Word() != "rpc") continue;
      const auto calls = words.Number();
      const auto again = words.Number();
      if (!calls.has_value() || !again.has_value()) return false;
      values_ = {static_cast<double>(*calls), static_cast<double>(*again)};
      return true;
    }
    return false;
  }

  const ReaderContext context_;
  ProcFile file_;
  std::array<double, 2> values_{};
  bool there_ = false;
};

}  // namespace

std::unique_ptr<SeriesReader> NewNfsReader(const SystemContext& context) {
  return std::make_unique<NfsReader>(context);
}

}  // namespace pitwall::collector
