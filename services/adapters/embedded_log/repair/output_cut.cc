#include "services/adapters/embedded_log/repair/output_cut.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "services/adapters/embedded_log/format/segment_check.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

struct CutAt {
  size_t segment = 0;
  int64_t bytes = 0;
  int64_t offset = 0;
};

// Returns the first batch that was written by a commit after `sequence`.
StatusOr<std::optional<CutAt>> FindCut(const PartitionContent& content, uint64_t sequence) {
  for (size_t i = 0; i < content.segments.size(); ++i) {
    const SegmentInfo& info = content.segments[i];
    ASSIGN_OR_RETURN(const std::shared_ptr<const files::File> file, info.segment->Open());
    SegmentReader reader(file, kSegmentHeaderBytes, info.bytes, EndOfSegment(content, i));
    for (;;) {
      ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
      if (step == SegmentReader::Step::kEnd) break;
      if (step == SegmentReader::Step::kDamage || reader.header().sequence <= sequence) continue;
      return CutAt{i, reader.at(), reader.header().base_offset};
    }
  }
  return std::nullopt;
}

class Cutting {
 public:
  Cutting(const DerivedOutputs& derived, const std::vector<DamageReport>& reports,
          Recovered* recovered)
      : derived_(derived), reports_(reports), recovered_(recovered) {}

  StatusOr<OutputCut> Run() {
    const Topic* const input = Find(derived_.input);
    if (input == nullptr) return std::move(out_);
    for (int32_t p = 0; p < input->config.partitions; ++p) {
      RETURN_IF_ERROR(CutPartition({input->number, p}));
    }
    return std::move(out_);
  }

 private:
  struct Found {
    const Topic* topic;
    PartitionKey key;
    CutAt at;
  };

  const Topic* Find(std::string_view name) const {
    for (const Topic& topic : recovered_->topics) {
      if (topic.name == name) return &topic;
    }
    return nullptr;
  }

  Status CutPartition(const PartitionKey& input) {
    const auto position = std::find_if(
        recovered_->positions.begin(), recovered_->positions.end(),
        [&](const GroupPosition& p) { return p.group == derived_.group && p.key == input; });
    // If the position is lost, the group itself decides where to resume.
    if (position == recovered_->positions.end()) return OkStatus();
    const auto commit = recovered_->position_commits.find({derived_.group, input});
    if (commit == recovered_->position_commits.end()) return OkStatus();
    std::vector<Found> found;
    for (const std::string& name : derived_.outputs) {
      const Topic* const topic = Find(name);
      if (topic == nullptr || input.partition >= topic->config.partitions) continue;
      const PartitionKey key{topic->number, input.partition};
      ASSIGN_OR_RETURN(const std::optional<CutAt> at,
                       FindCut(recovered_->partitions[key], commit->second));
      if (at.has_value()) found.push_back({topic, key, *at});
    }
    if (found.empty()) return OkStatus();
    const std::string why = Cannot(input, position->at);
    for (const Found& cut : found) {
      const std::string place = Cat(cut.topic->name, "/", input.partition);
      const int64_t end = recovered_->partitions[cut.key].end_offset;
      if (!why.empty()) {
        out_.done.push_back(Cat(place, ": offsets ", cut.at.offset, " to ", end - 1,
                                " are kept, but ", derived_.group, " resumes at offset ",
                                position->at.offset, " of ", derived_.input, "/", input.partition,
                                " and writes them again, possibly with different content: ", why));
        continue;
      }
      out_.done.push_back(Cat(place, ": cut at offset ", cut.at.offset, " of ", end, "; ",
                              derived_.group, " produces them again from offset ",
                              position->at.offset, " of ", derived_.input, "/", input.partition));
      RETURN_IF_ERROR(CutAway(cut));
    }
    return OkStatus();
  }

  // Returns the reason why the outputs cannot be reproduced identically, or "" if they can.
  std::string Cannot(const PartitionKey& input, const CommittedOffset& at) {
    const PartitionContent& content = recovered_->partitions[input];
    const StatusOr<int64_t> needed = derived_.needs_from(at);
    if (!needed.ok()) return std::string(needed.status().message());
    int64_t from = *needed;
    // A compaction that the journal does not list may have replaced older state with newer state
    // that is now cut. In that case, the outputs must be reproduced from the beginning.
    if (CompactedSince(input.partition)) from = 0;
    if (content.start_offset > from) {
      return Cat("records from offset ", from, " are needed, but the input starts at offset ",
                 content.start_offset);
    }
    if (content.end_offset < at.offset) {
      return Cat("the input ends at offset ", content.end_offset);
    }
    for (const Lost& lost : content.lost) {
      if (lost.to > from) return Cat("input offsets ", lost.from, " to ", lost.to - 1, " are lost");
    }
    for (const DamageReport& report : reports_) {
      if (!report.healed && report.topic == derived_.input && report.partition == input.partition &&
          report.to_offset > from) {
        return Cat("input offsets ", report.from_offset, " to ", report.to_offset - 1, " are lost");
      }
    }
    return "";
  }

  bool CompactedSince(int32_t partition) {
    for (const std::string& name : derived_.outputs) {
      const Topic* const topic = Find(name);
      if (topic == nullptr || !topic->config.compacted) continue;
      const PartitionKey key{topic->number, partition};
      const auto& known = recovered_->facts[key].segments;
      for (const SegmentInfo& info : recovered_->partitions[key].segments) {
        const SegmentName& file = info.segment->name();
        if (!file.compacted()) continue;
        const auto fact = known.find(file.base_offset);
        if (fact == known.end() || fact->second.run != file.run) return true;
      }
    }
    return false;
  }

  Status CutAway(const Found& cut) {
    PartitionContent& content = recovered_->partitions[cut.key];
    const std::string& dir = recovered_->files[cut.key].dir;
    for (size_t i = cut.at.segment; i < content.segments.size(); ++i) {
      SegmentInfo& info = content.segments[i];
      SegmentName name = info.segment->name();
      CutSegment part{.path = info.segment->path(), .replaced = "", .content = ""};
      if (i == cut.at.segment && cut.at.bytes > kSegmentHeaderBytes) {
        if (name.compacted()) name.end_offset = cut.at.offset;
        ASSIGN_OR_RETURN(part.content,
                         ReadableBatches(part.path, name, cut.at.bytes, cut.at.offset));
        info.segment = std::make_shared<Segment>(dir, name);
        info.bytes = static_cast<int64_t>(part.content.size());
        info.last_time_ns = -1;
        info.writable = false;
        part.replaced = info.segment->path();
      }
      out_.segments.push_back(std::move(part));
    }
    const bool keeps = cut.at.bytes > kSegmentHeaderBytes;
    content.segments.resize(cut.at.segment + (keeps ? 1 : 0));
    if (!content.segments.empty()) content.segments.back().writable = false;
    content.end_offset = cut.at.offset;
    content.start_offset = std::min(content.start_offset, content.end_offset);
    if (content.segments.empty()) content.start_offset = content.end_offset;
    std::erase_if(content.lost, [&](const Lost& lost) { return lost.from >= cut.at.offset; });
    for (Lost& lost : content.lost) lost.to = std::min(lost.to, cut.at.offset);
    return OkStatus();
  }

  const DerivedOutputs& derived_;
  const std::vector<DamageReport>& reports_;
  Recovered* const recovered_;
  OutputCut out_;
};

}  // namespace

StatusOr<OutputCut> CutOutputs(const DerivedOutputs& derived,
                               const std::vector<DamageReport>& reports, Recovered* recovered) {
  if (!recovered->journal.damaged || recovered->journal.path.empty()) return OutputCut();
  return Cutting(derived, reports, recovered).Run();
}

}  // namespace pitwall::log
