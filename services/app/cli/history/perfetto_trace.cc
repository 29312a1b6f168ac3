#include "services/app/cli/history/perfetto_trace.h"

#include <algorithm>
#include <utility>

namespace pitwall::history_client {
namespace {

// Field numbers from the definitions in perfetto/trace/*.proto.
enum Trace : uint32_t { kPacket = 1 };
enum Packet : uint32_t {
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kInterned = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60,
};
enum Event : uint32_t { kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11, kName = 23 };
enum Descriptor : uint32_t { kUuid = 1, kTitle = 2, kProcess = 3, kParent = 5 };
constexpr uint32_t kEventNames = 2;       // field of InternedData
constexpr uint32_t kProcessPid = 1;       // field of ProcessDescriptor
constexpr uint32_t kProcessName = 6;      // field of ProcessDescriptor
constexpr uint32_t kAnnotationName = 10;  // field of DebugAnnotation
constexpr uint32_t kAnnotationInt = 4;
constexpr uint64_t kSliceBegin = 1;
constexpr uint64_t kSliceEnd = 2;
constexpr uint64_t kStateCleared = 1;
constexpr uint64_t kNeedsState = 2;

void Varint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}
void Number(uint32_t field, uint64_t value, std::string* out) {
  Varint(static_cast<uint64_t>(field) << 3, out);
  Varint(value, out);
}
void Text(uint32_t field, std::string_view value, std::string* out) {
  Varint(static_cast<uint64_t>(field) << 3 | 2, out);
  Varint(value.size(), out);
  out->append(value);
}

std::string_view KindName(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::kStep:
      return "steps";
    case Span::Kind::kPhase:
      return "phases";
    case Span::Kind::kOperator:
      return "operators";
  }
  return "spans";
}

void Descriptor(uint64_t uuid, uint64_t parent, std::string_view title, bool process,
                std::string* out) {
  std::string descriptor;
  Number(kUuid, uuid, &descriptor);
  if (process) {
    std::string of_process;
    Number(kProcessPid, uuid, &of_process);
    Text(kProcessName, title, &of_process);
    Text(kProcess, of_process, &descriptor);
  } else {
    Text(kTitle, title, &descriptor);
    Number(kParent, parent, &descriptor);
  }
  std::string packet;
  Number(kSequence, 1, &packet);
  Text(kTrackDescriptor, descriptor, &packet);
  Text(kPacket, packet, out);
}

void EventPacket(int64_t time_ns, const std::string& event, std::string* out) {
  std::string packet;
  Number(kTimestamp, static_cast<uint64_t>(time_ns), &packet);
  Number(kSequence, 1, &packet);
  Number(kSequenceFlags, kNeedsState, &packet);
  Text(kTrackEvent, event, &packet);
  Text(kPacket, packet, out);
}

void End(int64_t time_ns, uint64_t track, std::string* out) {
  std::string event;
  Number(kType, kSliceEnd, &event);
  Number(kTrack, track, &event);
  EventPacket(time_ns, event, out);
}

}  // namespace

uint32_t PerfettoTrace::NameOf(std::string_view name) {
  const auto [it, added] =
      name_ids_.try_emplace(std::string(name), static_cast<uint32_t>(names_.size()));
  if (added) names_.emplace_back(name);
  return it->second;
}

void PerfettoTrace::Add(std::string_view source, std::string_view node, int64_t rank,
                        const Span& span) {
  Group& group = groups_[{rank, std::string(source)}];
  if (group.title.empty())
    group.title = rank >= 0 ? Cat("rank ", rank, " (", node, ")") : std::string(source);
  group.slices[span.kind].push_back({span.start.ns(), std::max(span.start.ns(), span.end.ns()),
                                     NameOf(span.kind == Span::Kind::kStep ? "step" : span.name),
                                     span.step});
  ++slices_;
}

std::string PerfettoTrace::Bytes() const {
  std::string out;
  // Interning IDs follow the sorted order of the names, not their arrival order.
  std::vector<uint32_t> order(names_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return names_[a] < names_[b]; });
  std::vector<uint64_t> iids(names_.size());
  std::string interned;
  for (size_t i = 0; i < order.size(); ++i) {
    iids[order[i]] = i + 1;
    std::string entry;
    Number(1, i + 1, &entry);
    Text(2, names_[order[i]], &entry);
    Text(kEventNames, entry, &interned);
  }
  std::string first;
  Number(kSequence, 1, &first);
  Text(kInterned, interned, &first);
  Number(kSequenceFlags, kStateCleared, &first);
  Text(kPacket, first, &out);

  const auto begin = [&](const Slice& slice, uint64_t track) {
    std::string event;
    if (slice.step != kNoStep) {
      std::string annotation;
      Text(kAnnotationName, "step", &annotation);
      Number(kAnnotationInt, static_cast<uint64_t>(slice.step), &annotation);
      Text(kAnnotation, annotation, &event);
    }
    Number(kType, kSliceBegin, &event);
    Number(kNameIid, iids[slice.name], &event);
    Number(kTrack, track, &event);
    EventPacket(slice.start_ns, event, &out);
  };

  uint64_t uuid = 0;
  for (const auto& [key, group] : groups_) {
    const uint64_t process = ++uuid;
    Descriptor(process, 0, group.title, true, &out);
    for (const auto& [kind, unsorted] : group.slices) {
      std::vector<Slice> slices = unsorted;
      // Spans that contain other spans come first.
      std::sort(slices.begin(), slices.end(), [&](const Slice& a, const Slice& b) {
        return std::tuple(a.start_ns, -a.end_ns, iids[a.name], a.step) <
               std::tuple(b.start_ns, -b.end_ns, iids[b.name], b.step);
      });
      struct Lane {
        std::vector<Slice> slices;
        std::vector<int64_t> open;  // end times of the open slices, innermost slice last
      };
      std::vector<Lane> lanes;
      for (const Slice& slice : slices) {
        Lane* fits = nullptr;
        for (Lane& lane : lanes) {
          while (!lane.open.empty() && lane.open.back() <= slice.start_ns) lane.open.pop_back();
          if (lane.open.empty() || slice.end_ns <= lane.open.back()) {
            fits = &lane;
            break;
          }
        }
        if (fits == nullptr) fits = &lanes.emplace_back();
        fits->open.push_back(slice.end_ns);
        fits->slices.push_back(slice);
      }
      for (const Lane& lane : lanes) {
        const uint64_t track = ++uuid;
        Descriptor(track, process, KindName(kind), false, &out);
        std::vector<int64_t> open;
        for (const Slice& slice : lane.slices) {
          for (; !open.empty() && open.back() <= slice.start_ns; open.pop_back())
            End(open.back(), track, &out);
          begin(slice, track);
          open.push_back(slice.end_ns);
        }
        for (; !open.empty(); open.pop_back()) End(open.back(), track, &out);
      }
    }
  }
  return out;
}

}  // namespace pitwall::history_client
