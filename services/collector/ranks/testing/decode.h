// Test decoder for records in a FakeAppender.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/text/strings.h"
#include "services/codec/telemetry_codec.h"
#include "services/io/io.h"
#include "services/model/value.h"

namespace pitwall::collector {

struct ReadSample {
  std::string series;  // name{label=value,…} without the node label
  int64_t time_ns = 0;
  int64_t step = kNoStep;
  std::string mode;
  double value = 0;
};

struct ReadBatch {
  std::string job, source, boot_id;
  uint64_t sequence = 0;
  uint64_t first_sequence = 0;
  SourceInfo info;
  int64_t promise_ns = 0;
  bool goodbye = false;
  std::string owner;
  bool owner_declared = false;
  size_t schemas = 0;
  std::vector<int64_t> ticks;  // number of ticks in all frames, including ticks without values
  std::vector<ReadSample> samples;
  std::vector<Span> spans;
  std::vector<JobEvent> events;
  std::vector<StepPromise> step_promises;

  bool Has(std::string_view series) const {
    for (const ReadSample& sample : samples) {
      if (StartsWith(sample.series, series)) return true;
    }
    return false;
  }
};

// Decodes records as a processor would, including stored schemas. The test fails on malformed
// bytes, a wrong key, a frame without its schema, a decreasing promise, or a sample at or before a
// promise.
inline std::vector<ReadBatch> DecodeAll(const std::vector<OutgoingRecord>& records) {
  struct Source {
    uint64_t sequence = 0;
    int64_t promise_ns = INT64_MIN;
  };
  static_assert(kNoStep == -1);
  std::vector<ReadBatch> out;
  std::map<uint64_t, Schema> schemas;
  std::map<std::string, Source> sources;
  codec::BatchDecoder decoder;
  for (const OutgoingRecord& record : records) {
    const auto decoded = decoder.Decode(record.value);
    if (!decoded.ok() || decoded->batch == nullptr) {
      ADD_FAILURE() << decoded.status();
      continue;
    }
    const Batch& batch = *decoded->batch;
    EXPECT_EQ(record.key, batch.job);
    Source& source = sources[Cat(batch.job, "|", batch.source, "|", batch.boot_id)];
    if (source.sequence != 0) {
      EXPECT_EQ(batch.sequence, std::max(source.sequence + 1, batch.first_sequence))
          << batch.source;
    }
    source.sequence = batch.sequence;
    // A collector that resumes a rank does not know the promises sent by the previous collector.
    if (batch.sequence != batch.first_sequence) {
      EXPECT_GE(batch.promise.ns(), source.promise_ns);
    }
    ReadBatch read;
    read.job = batch.job;
    read.source = batch.source;
    read.boot_id = batch.boot_id;
    read.sequence = batch.sequence;
    read.first_sequence = batch.first_sequence;
    read.info = batch.info;
    read.promise_ns = batch.promise.ns();
    read.goodbye = batch.goodbye;
    read.owner = batch.owner;
    read.owner_declared = batch.owner_declared;
    read.schemas = batch.schemas.size();
    read.spans = batch.spans;
    read.events = batch.events;
    read.step_promises = batch.step_promises;
    for (const Schema& schema : batch.schemas) schemas[schema.id] = schema;
    for (const Frame& frame : batch.frames) {
      if (!schemas.contains(frame.schema_id)) {
        ADD_FAILURE() << "frame without a schema from " << batch.source;
        continue;
      }
      const Schema& schema = schemas[frame.schema_id];
      const size_t width = schema.series.size();
      for (size_t t = 0; t < frame.times.size(); ++t) {
        EXPECT_GT(frame.times[t], source.promise_ns) << batch.source;
        read.ticks.push_back(frame.times[t]);
        for (size_t c = 0; c < width; ++c) {
          const double value = frame.values[t * width + c];
          if (IsMissing(value)) continue;
          std::string name(schema.series[c].labels.Name());
          std::string labels;
          for (const Label& label : schema.series[c].labels) {
            if (label.name == kMetricName || label.name == "node") continue;
            CatTo(labels, labels.empty() ? "" : ",", label.name, "=", label.value);
          }
          read.samples.push_back({labels.empty() ? name : Cat(name, "{", labels, "}"),
                                  frame.times[t], frame.steps.empty() ? kNoStep : frame.steps[t],
                                  std::string(frame.mode), value});
        }
      }
    }
    source.promise_ns = std::max(source.promise_ns, batch.promise.ns());
    out.push_back(std::move(read));
  }
  return out;
}

// Returns one job's batches whose source name starts with `source`.
inline std::vector<ReadBatch> Of(const std::vector<ReadBatch>& batches, std::string_view job,
                                 std::string_view source = "") {
  std::vector<ReadBatch> out;
  for (const ReadBatch& batch : batches) {
    if (batch.job == job && StartsWith(batch.source, source)) out.push_back(batch);
  }
  return out;
}

}  // namespace pitwall::collector
