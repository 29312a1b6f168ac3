#include "services/app/cli/history/perfetto_trace.h"

#include <algorithm>
#include <utility>

#include "pitwall/foreign/perfetto/v1/perfetto_trace.pb.h"

namespace pitwall::history_client {
namespace {

namespace perfetto = foreign::perfetto::v1;

// Bits of TracePacket.sequence_flags.
constexpr uint32_t kStateCleared = 1;
constexpr uint32_t kNeedsState = 2;

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

// Encoder that appends one packet at a time and holds only that packet.
class PacketWriter {
 public:
  explicit PacketWriter(std::string* out) : out_(out) {}

  // Returns an empty packet to fill in. The next call invalidates it.
  perfetto::TracePacket* Begin() {
    one_.Clear();
    perfetto::TracePacket* const packet = one_.add_packet();
    packet->set_trusted_packet_sequence_id(1);
    return packet;
  }
  // Appends the packet of the last Begin. A trace of several packets is their concatenation.
  void End() { one_.AppendToString(out_); }

  void Group(uint64_t uuid, std::string_view title) {
    perfetto::TrackDescriptor* const group = Begin()->mutable_track_descriptor();
    group->set_uuid(uuid);
    group->mutable_process()->set_pid(static_cast<int32_t>(uuid));
    group->mutable_process()->set_process_name(std::string(title));
    End();
  }

  void Track(uint64_t uuid, uint64_t group, std::string_view title) {
    perfetto::TrackDescriptor* const track = Begin()->mutable_track_descriptor();
    track->set_uuid(uuid);
    track->set_name(std::string(title));
    track->set_parent_uuid(group);
    End();
  }

  void SliceBegin(int64_t time_ns, uint64_t track, uint64_t name_iid, int64_t step) {
    perfetto::TrackEvent* const event = BeginEvent(time_ns, track);
    event->set_type(perfetto::TrackEvent::TYPE_SLICE_BEGIN);
    event->set_name_iid(name_iid);
    if (step != kNoStep) {
      perfetto::DebugAnnotation* const annotation = event->add_debug_annotations();
      annotation->set_name("step");
      annotation->set_int_value(step);
    }
    End();
  }

  void SliceEnd(int64_t time_ns, uint64_t track) {
    BeginEvent(time_ns, track)->set_type(perfetto::TrackEvent::TYPE_SLICE_END);
    End();
  }

 private:
  perfetto::TrackEvent* BeginEvent(int64_t time_ns, uint64_t track) {
    perfetto::TracePacket* const packet = Begin();
    packet->set_timestamp(static_cast<uint64_t>(time_ns));
    packet->set_sequence_flags(kNeedsState);
    packet->mutable_track_event()->set_track_uuid(track);
    return packet->mutable_track_event();
  }

  std::string* const out_;
  perfetto::Trace one_;
};

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
  PacketWriter writer(&out);
  perfetto::TracePacket* const first = writer.Begin();
  first->set_sequence_flags(kStateCleared);
  for (size_t i = 0; i < order.size(); ++i) {
    iids[order[i]] = i + 1;
    perfetto::EventName* const name = first->mutable_interned_data()->add_event_names();
    name->set_iid(i + 1);
    name->set_name(names_[order[i]]);
  }
  writer.End();

  uint64_t uuid = 0;
  for (const auto& [key, group] : groups_) {
    const uint64_t process = ++uuid;
    writer.Group(process, group.title);
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
        writer.Track(track, process, KindName(kind));
        std::vector<int64_t> open;
        for (const Slice& slice : lane.slices) {
          for (; !open.empty() && open.back() <= slice.start_ns; open.pop_back())
            writer.SliceEnd(open.back(), track);
          writer.SliceBegin(slice.start_ns, track, iids[slice.name], slice.step);
          open.push_back(slice.end_ns);
        }
        for (; !open.empty(); open.pop_back()) writer.SliceEnd(open.back(), track);
      }
    }
  }
  return out;
}

}  // namespace pitwall::history_client
