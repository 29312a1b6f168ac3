#include "services/collector/processes/tracked_rank.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/collector/files/proc_file.h"

namespace pitwall::collector {
namespace {

constexpr uint8_t kFormat = 2;
constexpr uint8_t kFormatBefore = 1;  // previous format, without image and goodbye
constexpr size_t kMostAncestors = 64;

void Write(const ProcessKey& key, BinaryWriter* out) {
  out->I64(key.pid);
  out->U64(key.start_ticks);
}

ProcessKey ReadKey(BinaryReader* in) {
  ProcessKey key;
  key.pid = in->I64();
  key.start_ticks = in->U64();
  return key;
}

}  // namespace

ProcessHome ReadProcessHome(const std::string& root) {
  ProcessHome home;
  ProcFile boot(UnderRoot(root, "proc/sys/kernel/random/boot_id"));
  home.boot = std::string(Trim(boot.Read().value_or(std::string_view())));
  std::array<char, 64> link{};
  const ssize_t length =
      readlink(UnderRoot(root, "proc/self/ns/pid").c_str(), link.data(), link.size());
  if (length > 0) home.pid_namespace.assign(link.data(), static_cast<size_t>(length));
  return home;
}

std::string EncodeKnownRank(const TrackedRank& rank) {
  BinaryWriter out;
  out.U8(kFormat);
  out.Str(rank.owner);
  out.Bool(rank.owner_declared);
  out.I64(rank.info.rank);
  out.I64(rank.info.start.ns());
  out.Bool(rank.info.attempt.has_value());
  out.U64(rank.info.attempt.value_or(0));
  out.I64(rank.world_size);
  out.Bool(rank.resends);
  out.Str(rank.home.boot);
  out.Str(rank.home.pid_namespace);
  Write(rank.process.self, &out);
  const ProcessImage& image = rank.process.image;
  for (const uint64_t address : {image.start_code, image.end_code, image.start_stack})
    out.U64(address);
  out.U64(rank.process.ancestors.size());
  for (const ProcessKey& key : rank.process.ancestors) Write(key, &out);
  out.Str(rank.process.oom_file);
  out.Bool(rank.goodbye.has_value());
  if (rank.goodbye.has_value()) out.Str(*rank.goodbye);
  return out.Take();
}

std::optional<TrackedRank> DecodeKnownRank(std::string_view bytes) {
  BinaryReader in(bytes);
  const uint8_t format = in.U8();
  if (format != kFormat && format != kFormatBefore) return std::nullopt;
  TrackedRank rank;
  rank.info.kind = SourceKind::kRank;
  rank.owner = in.Str();
  rank.owner_declared = in.Bool();
  rank.info.rank = in.I64();
  rank.info.start = EventTime::FromNs(in.I64());
  const bool has_attempt = in.Bool();
  const uint64_t attempt = in.U64();
  if (has_attempt) rank.info.attempt = attempt;
  rank.world_size = in.I64();
  rank.resends = in.Bool();
  rank.home.boot = in.Str();
  rank.home.pid_namespace = in.Str();
  rank.process.self = ReadKey(&in);
  if (format == kFormat) {
    ProcessImage& image = rank.process.image;
    for (uint64_t* address : {&image.start_code, &image.end_code, &image.start_stack})
      *address = in.U64();
  }
  const size_t ancestors = in.Count(2);
  if (ancestors > kMostAncestors) return std::nullopt;
  rank.process.ancestors.resize(ancestors);
  for (ProcessKey& key : rank.process.ancestors) key = ReadKey(&in);
  rank.process.oom_file = in.Str();
  if (format == kFormat && in.Bool()) rank.goodbye = in.Str();
  if (!in.Finish("known rank").ok() || rank.process.self.pid <= 0) return std::nullopt;
  return rank;
}

}  // namespace pitwall::collector
