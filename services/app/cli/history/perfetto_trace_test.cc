#include "services/app/cli/history/perfetto_trace.h"
#include "services/base/time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace pitwall::history_client {
namespace {

// Independent decoder. It reads protobuf fields by number and builds slices according to Perfetto's
// rules: an end event closes the innermost open slice of its track, and packets are ordered by
// time.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  bool Next() {
    if (rest_.empty()) return false;
    const uint64_t tag = Varint();
    field = static_cast<uint32_t>(tag >> 3);
    number = 0;
    text = {};
    if ((tag & 7) == 0) {
      number = Varint();
    } else {
      EXPECT_EQ(tag & 7, 2u);
      const uint64_t size = Varint();
      text = rest_.substr(0, size);
      rest_.remove_prefix(size);
    }
    return true;
  }
  uint32_t field = 0;
  uint64_t number = 0;
  std::string_view text;

 private:
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view rest_;
};

struct ReadSlice {
  std::string group;
  std::string track;
  std::string name;
  uint64_t start;
  uint64_t end;
  int64_t step;
  auto operator<=>(const ReadSlice&) const = default;
};

struct Event {
  uint64_t time;
  uint64_t type;
  uint64_t track;
  std::string name;
  int64_t step = -1;
};

std::vector<ReadSlice> ReadTrace(const std::string& bytes) {
  std::map<uint64_t, std::string> names, groups, tracks;
  std::map<uint64_t, uint64_t> parents;
  std::vector<Event> events;
  for (Fields trace(bytes); trace.Next();) {
    EXPECT_EQ(trace.field, 1u);
    Event event{};
    bool has_event = false;
    for (Fields packet(trace.text); packet.Next();) {
      if (packet.field == 8) event.time = packet.number;
      if (packet.field == 12) {
        for (Fields interned(packet.text); interned.Next();) {
          uint64_t iid = 0;
          for (Fields entry(interned.text); entry.Next();) {
            if (entry.field == 1) iid = entry.number;
            if (entry.field == 2) names[iid] = std::string(entry.text);
          }
        }
      }
      if (packet.field == 60) {
        uint64_t uuid = 0;
        for (Fields d(packet.text); d.Next();) {
          if (d.field == 1) uuid = d.number;
          if (d.field == 2) tracks[uuid] = std::string(d.text);
          if (d.field == 5) parents[uuid] = d.number;
          if (d.field == 3) {
            for (Fields process(d.text); process.Next();)
              if (process.field == 6) groups[uuid] = std::string(process.text);
          }
        }
      }
      if (packet.field == 11) {
        has_event = true;
        for (Fields e(packet.text); e.Next();) {
          if (e.field == 9) event.type = e.number;
          if (e.field == 10) event.name = names.at(e.number);
          if (e.field == 11) event.track = e.number;
          if (e.field == 4) {
            for (Fields a(e.text); a.Next();)
              if (a.field == 4) event.step = static_cast<int64_t>(a.number);
          }
        }
      }
    }
    if (has_event) events.push_back(event);
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  std::map<uint64_t, std::vector<ReadSlice>> open;
  std::vector<ReadSlice> out;
  for (const Event& event : events) {
    std::vector<ReadSlice>& stack = open[event.track];
    if (event.type == 1) {
      stack.push_back({groups.at(parents.at(event.track)), tracks.at(event.track), event.name,
                       event.time, 0, event.step});
      continue;
    }
    EXPECT_EQ(event.type, 2u);
    EXPECT_FALSE(stack.empty()) << "end without begin";
    if (stack.empty()) continue;
    stack.back().end = event.time;
    out.push_back(stack.back());
    stack.pop_back();
  }
  for (const auto& [track, stack] : open) EXPECT_TRUE(stack.empty()) << "slice without end";
  std::sort(out.begin(), out.end());
  return out;
}

TEST(PerfettoTrace, Bytes_RandomSpans_RoundTrip) {
  std::mt19937_64 random(7);
  struct Given {
    int64_t rank;
    Span span;
  };
  std::vector<Given> given;
  std::vector<ReadSlice> expected;
  const char* kTracks[] = {"steps", "phases", "operators"};
  for (int i = 0; i < 5000; ++i) {
    Given one;
    one.rank = static_cast<int64_t>(random() % 5);
    one.span.kind = static_cast<Span::Kind>(random() % 3);
    one.span.start =
        EventTime::FromNs(1'700'000'000'000'000'000 + static_cast<int64_t>(random() % 2000));
    one.span.end = EventTime::FromNs(one.span.start.ns() +
                                     static_cast<int64_t>(random() % 60));  // spans overlap
    one.span.step = random() % 4 == 0 ? kNoStep : static_cast<int64_t>(random() % 100);
    one.span.name = one.span.kind == Span::Kind::kStep ? "" : "op" + std::to_string(random() % 30);
    expected.push_back({"rank " + std::to_string(one.rank) + " (n)",
                        kTracks[static_cast<int>(one.span.kind)],
                        one.span.kind == Span::Kind::kStep ? "step" : one.span.name,
                        static_cast<uint64_t>(one.span.start.ns()),
                        static_cast<uint64_t>(one.span.end.ns()), one.span.step});
    given.push_back(one);
  }
  PerfettoTrace trace;
  for (const Given& one : given) trace.Add("s" + std::to_string(one.rank), "n", one.rank, one.span);
  EXPECT_EQ(trace.spans(), 5000u);
  EXPECT_EQ(trace.groups(), 5u);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(ReadTrace(trace.Bytes()), expected);

  PerfettoTrace other;
  std::shuffle(given.begin(), given.end(), random);
  for (const Given& one : given) other.Add("s" + std::to_string(one.rank), "n", one.rank, one.span);
  EXPECT_EQ(other.Bytes(), trace.Bytes());
}

TEST(PerfettoTrace, Bytes_NestedPhases_StayOnOneTrack) {
  PerfettoTrace trace;
  trace.Add(
      "r", "n", 0,
      {Span::Kind::kPhase, "backward", EventTime::FromNs(0), EventTime::FromNs(100), 1, "train"});
  trace.Add("r", "n", 0,
            {Span::Kind::kPhase, "collective", EventTime::FromNs(50), EventTime::FromNs(100), 1,
             "train"});
  trace.Add("r", "n", 0,
            {Span::Kind::kPhase, "optimizer", EventTime::FromNs(100), EventTime::FromNs(120), 1,
             "train"});
  const std::string bytes = trace.Bytes();
  size_t tracks = 0;
  for (size_t at = bytes.find("phases"); at != std::string::npos; at = bytes.find("phases", at + 1))
    ++tracks;
  EXPECT_EQ(tracks, 1u);
  EXPECT_EQ(ReadTrace(bytes).size(), 3u);
}

}  // namespace
}  // namespace pitwall::history_client
