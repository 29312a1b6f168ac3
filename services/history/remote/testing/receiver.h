// Fake remote write receiver that behaves like Prometheus without an out-of-order window. It
// rejects a whole request with 400 if a sample is older than the newest sample of its series, or
// differs from a sample at the same time.
#pragma once

#include <gtest/gtest.h>
#include <snappy.h>

#include <bit>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/io/http_transport.h"

namespace pitwall::history {

using ReceivedPoint = std::pair<int64_t, uint64_t>;  // (milliseconds, value bits)

class FakeReceiver final : public HttpTransport {
 public:
  using Series = std::map<std::string, std::vector<ReceivedPoint>>;  // by name="value",…

  StatusOr<HttpReply> Perform(const HttpCall& call) override {
    MutexLock lock(&mutex_);
    calls_.push_back(call);
    if (!script_.empty()) {
      // The reply is a deep copy, because a plain copy would share reference counts in a library
      // that the thread sanitizer does not instrument.
      const StatusOr<HttpReply>& front = script_.front();
      const StatusOr<HttpReply> next =
          front.ok()
              ? front
              : Status(front.status().code(), ToAbsl(std::string(ToStd(front.status().message()))));
      if (script_.size() > 1 || !last_stays_) script_.pop_front();
      if (!next.ok() || next->status != 200) return next;
    }
    const Series request = Decode(call.body);
    Series merged = series_;
    for (const auto& [labels, points] : request) {
      std::vector<ReceivedPoint>& all = merged[labels];
      for (const ReceivedPoint& point : points) {
        if (!all.empty() && all.back() == point) continue;
        if (!all.empty() && point.first <= all.back().first)
          return HttpReply{400, {}, "out of order sample"};
        all.push_back(point);
      }
    }
    series_ = std::move(merged);
    return HttpReply{204, {}, ""};
  }
  Status CheckUrl(std::string_view) const override { return OkStatus(); }

  void Script(std::deque<StatusOr<HttpReply>> replies, bool last_stays = false) {
    MutexLock lock(&mutex_);
    script_ = std::move(replies);
    last_stays_ = last_stays;
  }
  Series series() const {
    MutexLock lock(&mutex_);
    return series_;
  }
  std::vector<HttpCall> calls() const {
    MutexLock lock(&mutex_);
    return calls_;
  }

  static Series Decode(const std::string& body) {
    std::string bytes;
    EXPECT_TRUE(snappy::Uncompress(body.data(), body.size(), &bytes));
    Series out;
    for (std::string_view rest = bytes; !rest.empty();) {
      EXPECT_EQ(Varint(&rest), 10U);
      std::string_view series = Bytes(&rest);
      std::string labels;
      std::vector<ReceivedPoint> points;
      while (!series.empty()) {
        const uint64_t tag = Varint(&series);
        std::string_view field = Bytes(&series);
        if (tag == 10) {
          EXPECT_EQ(Varint(&field), 10U);
          const std::string_view name = Bytes(&field);
          EXPECT_EQ(Varint(&field), 18U);
          CatTo(labels, labels.empty() ? "" : ",", name, "=", Bytes(&field));
        } else {
          EXPECT_EQ(tag, 18U);
          EXPECT_EQ(Varint(&field), 9U);
          uint64_t bits = 0;
          for (size_t i = 0; i < 8; ++i)
            bits |= static_cast<uint64_t>(static_cast<uint8_t>(field[i])) << (8 * i);
          field.remove_prefix(8);
          EXPECT_EQ(Varint(&field), 16U);
          points.emplace_back(static_cast<int64_t>(Varint(&field)), bits);
        }
        EXPECT_TRUE(field.empty());
      }
      std::vector<ReceivedPoint>& all = out[labels];
      all.insert(all.end(), points.begin(), points.end());
    }
    return out;
  }

 private:
  static uint64_t Varint(std::string_view* in) {
    uint64_t out = 0;
    for (int shift = 0; !in->empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(in->front());
      in->remove_prefix(1);
      out |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return out;
  }
  static std::string_view Bytes(std::string_view* in) {
    const uint64_t size = Varint(in);
    const std::string_view out = in->substr(0, size);
    EXPECT_EQ(out.size(), size);
    in->remove_prefix(out.size());
    return out;
  }

  mutable Mutex mutex_;
  std::deque<StatusOr<HttpReply>> script_ ABSL_GUARDED_BY(mutex_);
  bool last_stays_ ABSL_GUARDED_BY(mutex_) = false;
  Series series_ ABSL_GUARDED_BY(mutex_);
  std::vector<HttpCall> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::history
