#include "services/codec/imports/traces/xplane.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "pitwall/foreign/xplane/v1/xplane.pb.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/message_fields.h"
#include "services/codec/imports/traces/trace_event.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

using foreign::xplane::v1::XEvent;
using foreign::xplane::v1::XLine;
using foreign::xplane::v1::XPlane;
using foreign::xplane::v1::XSpace;
using foreign::xplane::v1::XStat;

struct Plane {
  std::string name;
  std::vector<std::string_view> lines;
  absl::flat_hash_map<int64_t, std::string> events;  // names by ID
  std::vector<XStat> own;
  std::optional<int64_t> start_time, step_number, hlo_op;  // IDs of stats
};

template <typename Message>
bool Parse(std::string_view bytes, Message* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

std::optional<int64_t> IntegerOf(const XStat& stat) {
  if (stat.value_case() == XStat::kUint64Value) return static_cast<int64_t>(stat.uint64_value());
  if (stat.value_case() == XStat::kInt64Value) return stat.int64_value();
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::string_view name, std::string_view bytes, lenient::SkippedRecords* skipped,
         const std::function<Status(const ProfileEvent&)>& take)
      : name_(name), bytes_(bytes), skipped_(skipped), take_(take) {}

  Status Read() {
    std::vector<Plane> planes;
    MessageFields space(bytes_);
    while (space.Next()) {
      if (space.number() == XSpace::kPlanesFieldNumber && space.value())
        RETURN_IF_ERROR(ReadPlane(*space.value(), &planes.emplace_back()));
    }
    if (planes.empty()) {
      RETURN_IF_ERROR(Check(space, bytes_));
      return InvalidArgument(Cat(name_, ": not a profile because it has no planes"));
    }
    cut_ = Check(space, bytes_);
    RETURN_IF_ERROR(skipped_->SkipInvalid(cut_));
    for (const Plane& plane : planes) {
      for (const XStat& stat : plane.own) {
        if (stat.metadata_id() == plane.start_time) start_ns_ = IntegerOf(stat).value_or(start_ns_);
      }
    }
    if (start_ns_ < 0 || start_ns_ >= kMaxPosition)
      return InvalidArgument(Cat(name_, ": profile_start_time ", start_ns_, " is not a time"));
    for (const Plane& plane : planes) {
      for (const std::string_view line : plane.lines) RETURN_IF_ERROR(ReadLine(plane, line));
    }
    return OkStatus();
  }

 private:
  Status Malformed(std::string_view message, size_t at) const {
    return InvalidArgument(Cat(name_, ": invalid or truncated XSpace at byte ",
                               static_cast<size_t>(message.data() - bytes_.data()) + at, " of ",
                               bytes_.size()));
  }
  Status Check(const MessageFields& fields, std::string_view message) const {
    return fields.ok() ? OkStatus() : Malformed(message, fields.at());
  }

  Status ReadPlane(std::string_view bytes, Plane* plane) const {
    XPlane part;
    MessageFields fields(bytes);
    while (fields.Next()) {
      if (fields.number() == XPlane::kLinesFieldNumber && fields.value()) {
        plane->lines.push_back(*fields.value());
        continue;
      }
      // The metadata of one event may contain a whole program, so each is parsed on its own.
      if (!Parse(fields.whole(), &part)) return Malformed(fields.whole(), 0);
      if (!part.name().empty()) plane->name = part.name();
      for (const auto& [id, event] : part.event_metadata()) {
        plane->events.insert_or_assign(
            id, event.display_name().empty() ? event.name() : event.display_name());
      }
      for (const auto& [id, stat] : part.stat_metadata()) {
        if (stat.name() == "profile_start_time") plane->start_time = id;
        if (stat.name() == "step_num") plane->step_number = id;
        if (stat.name() == "hlo_op") plane->hlo_op = id;
      }
      plane->own.insert(plane->own.end(), part.stats().begin(), part.stats().end());
    }
    return Check(fields, bytes);
  }

  Status ReadLine(const Plane& plane, std::string_view bytes) const {
    std::string others;
    std::vector<std::string_view> events;
    MessageFields fields(bytes);
    while (fields.Next()) {
      if (fields.number() == XLine::kEventsFieldNumber && fields.value()) {
        events.push_back(*fields.value());
      } else {
        others += fields.whole();
      }
    }
    RETURN_IF_ERROR(Check(fields, bytes));
    XLine line;
    if (!Parse(others, &line)) return Malformed(bytes, 0);
    const std::string& name = line.name();
    const int64_t timestamp_ns = line.timestamp_ns();
    if (timestamp_ns < 0 || timestamp_ns >= kMaxPosition)
      return skipped_->SkipInvalid(
          InvalidArgument(Cat(name_, ": the start time of line ", Quote(name), " on plane ",
                              Quote(plane.name), " is out of range")));
    if (!cut_.ok() && start_ns_ == 0 && timestamp_ns < kFirstUnixTimeNs) return cut_;
    const int64_t begin_ns =
        timestamp_ns >= kFirstUnixTimeNs ? timestamp_ns : start_ns_ + timestamp_ns;
    const std::string& title = line.display_name().empty() ? name : line.display_name();
    XEvent event;
    for (const std::string_view one : events) {
      const Status read =
          Parse(one, &event) ? TakeEvent(plane, title, begin_ns, event) : Malformed(one, 0);
      if (read.ok()) skipped_->Use();
      RETURN_IF_ERROR(skipped_->SkipInvalid(read));
    }
    return OkStatus();
  }

  Status TakeEvent(const Plane& plane, std::string_view line, int64_t begin_ns,
                   const XEvent& read) const {
    if (read.has_num_occurrences()) return OkStatus();  // an aggregate of many events
    ProfileEvent event;
    event.plane = plane.name;
    event.line = line;
    if (const auto found = plane.events.find(read.metadata_id()); found != plane.events.end())
      event.name = found->second;
    for (const XStat& stat : read.stats()) {
      if (stat.metadata_id() == plane.step_number && IntegerOf(stat)) event.step = IntegerOf(stat);
      if (stat.metadata_id() == plane.hlo_op) event.hlo = true;
    }
    const auto offset_ps = static_cast<uint64_t>(read.offset_ps());
    const auto duration_ps = static_cast<uint64_t>(read.duration_ps());
    const auto limit = static_cast<uint64_t>(kMaxPosition / 4);
    if (offset_ps / 1000 >= limit || duration_ps / 1000 >= limit ||
        begin_ns + static_cast<int64_t>(offset_ps / 1000 + duration_ps / 1000) >= kMaxPosition)
      return InvalidArgument(Cat(name_, ": the times of event ", Quote(event.name), " on plane ",
                                 Quote(plane.name), " are out of range"));
    event.start_ns = begin_ns + static_cast<int64_t>(offset_ps / 1000);
    event.end_ns =
        event.start_ns +
        static_cast<int64_t>(duration_ps / 1000 + (offset_ps % 1000 + duration_ps % 1000) / 1000);
    return Annotate(take_(event), name_);
  }

  const std::string_view name_, bytes_;
  lenient::SkippedRecords* const skipped_;
  const std::function<Status(const ProfileEvent&)>& take_;
  int64_t start_ns_ = 0;
  Status cut_;  // error if the file is truncated after a plane
};

}  // namespace

Status ReadXSpace(std::string_view name, std::string_view bytes, lenient::SkippedRecords* skipped,
                  const std::function<Status(const ProfileEvent&)>& take) {
  return Reader(name, bytes, skipped, take).Read();
}

}  // namespace pitwall::imports
