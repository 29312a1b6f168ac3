#include "services/codec/imports/traces/xplane.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/proto_message.h"
#include "services/codec/imports/traces/trace_event.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

using Field = ProtoField;
using Message = ProtoMessage;

struct Stat {
  int64_t name = 0;  // ID in stat_metadata
  uint64_t value = 0;
  bool number = false;
};

using Names = absl::flat_hash_map<int64_t, std::string_view>;

struct Plane {
  std::string_view name;
  std::vector<std::string_view> lines;
  Names events, stats;
  std::vector<Stat> own;
};

class Reader {
 public:
  Reader(std::string_view name, std::string_view bytes, lenient::SkippedRecords* skipped,
         const std::function<Status(const ProfileEvent&)>& take)
      : name_(name), bytes_(bytes), skipped_(skipped), take_(take) {}

  Status Read() {
    std::vector<Plane> planes;
    Message space(bytes_);
    for (Field field; space.Next(&field);) {
      if (field.number != 1 || !field.bytes) continue;
      planes.emplace_back();
      RETURN_IF_ERROR(ReadPlane(field.text, &planes.back()));
    }
    if (planes.empty()) {
      RETURN_IF_ERROR(Check(space));
      return InvalidArgument(Cat(name_, ": not a profile because it has no planes"));
    }
    cut_ = Check(space);
    RETURN_IF_ERROR(skipped_->SkipInvalid(cut_));
    for (const Plane& plane : planes) {
      for (const Stat& stat : plane.own) {
        const auto found = plane.stats.find(stat.name);
        if (found != plane.stats.end() && found->second == "profile_start_time" && stat.number)
          start_ns_ = static_cast<int64_t>(stat.value);
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
  Status Check(const Message& message) const {
    if (message.ok()) return OkStatus();
    return InvalidArgument(Cat(name_, ": invalid or truncated XSpace at byte ",
                               message.at() - bytes_.data(), " of ", bytes_.size()));
  }

  // Reads a map entry with an ID as the key and a named message as the value.
  Status ReadName(std::string_view entry, uint32_t display_name, Names* names) const {
    int64_t id = 0;
    std::string_view name;
    Message message(entry);
    for (Field field; message.Next(&field);) {
      if (field.number == 1 && !field.bytes) id = static_cast<int64_t>(field.value);
      if (field.number != 2 || !field.bytes) continue;
      Message value(field.text);
      for (Field of; value.Next(&of);) {
        if (of.number == 2 && of.bytes && name.empty()) name = of.text;
        if (of.number == display_name && of.bytes && !of.text.empty()) name = of.text;
      }
      RETURN_IF_ERROR(Check(value));
    }
    RETURN_IF_ERROR(Check(message));
    names->insert_or_assign(id, name);
    return OkStatus();
  }

  Status ReadStat(std::string_view bytes, Stat* stat) const {
    Message message(bytes);
    for (Field field; message.Next(&field);) {
      if (field.number == 1) stat->name = static_cast<int64_t>(field.value);
      if (field.number != 3 && field.number != 4) continue;
      stat->value = field.value;
      stat->number = true;
    }
    return Check(message);
  }

  Status ReadPlane(std::string_view bytes, Plane* plane) const {
    Message message(bytes);
    for (Field field; message.Next(&field);) {
      if (!field.bytes) continue;
      if (field.number == 2) plane->name = field.text;
      if (field.number == 3) plane->lines.push_back(field.text);
      if (field.number == 4) RETURN_IF_ERROR(ReadName(field.text, 4, &plane->events));
      if (field.number == 5) RETURN_IF_ERROR(ReadName(field.text, 2, &plane->stats));
      if (field.number != 6) continue;
      plane->own.emplace_back();
      RETURN_IF_ERROR(ReadStat(field.text, &plane->own.back()));
    }
    return Check(message);
  }

  Status ReadLine(const Plane& plane, std::string_view bytes) const {
    std::string_view name, display_name;
    int64_t timestamp_ns = 0;
    std::vector<std::string_view> events;
    Message message(bytes);
    for (Field field; message.Next(&field);) {
      if (field.number == 2) name = field.text;
      if (field.number == 11) display_name = field.text;
      if (field.number == 3) timestamp_ns = static_cast<int64_t>(field.value);
      if (field.number == 4 && field.bytes) events.push_back(field.text);
    }
    RETURN_IF_ERROR(Check(message));
    if (timestamp_ns < 0 || timestamp_ns >= kMaxPosition)
      return skipped_->SkipInvalid(
          InvalidArgument(Cat(name_, ": the start time of line ", Quote(name), " on plane ",
                              Quote(plane.name), " is out of range")));
    if (!cut_.ok() && start_ns_ == 0 && timestamp_ns < kFirstUnixTimeNs) return cut_;
    const int64_t begin_ns =
        timestamp_ns >= kFirstUnixTimeNs ? timestamp_ns : start_ns_ + timestamp_ns;
    for (const std::string_view event : events) {
      const Status read =
          ReadEvent(plane, display_name.empty() ? name : display_name, begin_ns, event);
      if (read.ok()) skipped_->Use();
      RETURN_IF_ERROR(skipped_->SkipInvalid(read));
    }
    return OkStatus();
  }

  Status ReadEvent(const Plane& plane, std::string_view line, int64_t begin_ns,
                   std::string_view bytes) const {
    ProfileEvent event;
    event.plane = plane.name;
    event.line = line;
    uint64_t offset_ps = 0, duration_ps = 0;
    Message message(bytes);
    for (Field field; message.Next(&field);) {
      if (field.number == 1) {
        const auto found = plane.events.find(static_cast<int64_t>(field.value));
        if (found != plane.events.end()) event.name = found->second;
      }
      if (field.number == 2) offset_ps = field.value;
      if (field.number == 3) duration_ps = field.value;
      if (field.number == 5) return OkStatus();  // an aggregate of many events, without a time
      if (field.number != 4 || !field.bytes) continue;
      Stat stat;
      RETURN_IF_ERROR(ReadStat(field.text, &stat));
      const auto found = plane.stats.find(stat.name);
      if (found == plane.stats.end()) continue;
      if (found->second == "step_num" && stat.number) event.step = static_cast<int64_t>(stat.value);
      if (found->second == "hlo_op") event.hlo = true;
    }
    RETURN_IF_ERROR(Check(message));
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
