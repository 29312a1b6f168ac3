#include "services/loadgen/load_plan.h"

#include <algorithm>
#include <array>

#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/loadgen/noise.h"

namespace pitwall::loadgen {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"straggler", "stall", "hang", "death",
                                                    "nan",       "gpu",   "leak"};
constexpr std::string_view kKeys = "job, rank, from, for, factor, share, signal, restart, rate";

Status Bad(std::string_view text, std::string_view what) {
  return InvalidArgument(Cat("--fault ", Quote(text), ": ", what));
}

StatusOr<double> Number(std::string_view text, std::string_view key, std::string_view value,
                        double least, double most) {
  const auto number = ParseDouble(value);
  if (!number.has_value() || !(*number >= least && *number <= most))
    return Bad(text, Cat(key, " must be a number from ", FormatDouble(least), " to ",
                         FormatDouble(most), " (", Quote(value), ")"));
  return *number;
}

StatusOr<int64_t> Whole(std::string_view text, std::string_view key, std::string_view value) {
  const auto number = ParseInt(value);
  if (!number.has_value() || *number < 0)
    return Bad(text, Cat(key, " must be a whole number (", Quote(value), ")"));
  return *number;
}

StatusOr<int64_t> Time(std::string_view text, std::string_view key, std::string_view value) {
  const auto time = ParseDuration(value);
  if (!time.ok()) return Bad(text, Cat(key, " must be a duration like 90s (", Quote(value), ")"));
  return *time;
}

bool NeedsRank(FaultKind kind) { return kind != FaultKind::kStall && kind != FaultKind::kNan; }

Status SetKey(std::string_view text, std::string_view key, std::string_view value, Fault* fault) {
  if (key == "job") {
    ASSIGN_OR_RETURN(fault->job, Whole(text, key, value));
  } else if (key == "rank") {
    ASSIGN_OR_RETURN(fault->rank, Whole(text, key, value));
  } else if (key == "from" && StartsWith(value, "step:")) {
    ASSIGN_OR_RETURN(fault->from_step, Whole(text, key, value.substr(5)));
  } else if (key == "from") {
    ASSIGN_OR_RETURN(fault->from_ns, Time(text, key, value));
  } else if (key == "for") {
    ASSIGN_OR_RETURN(fault->for_ns, Time(text, key, value));
  } else if (key == "factor") {
    ASSIGN_OR_RETURN(fault->factor, Number(text, key, value, 1, 1000));
  } else if (key == "share") {
    ASSIGN_OR_RETURN(fault->share, Number(text, key, value, 0, 0.99));
  } else if (key == "rate") {
    ASSIGN_OR_RETURN(fault->rate, Number(text, key, value, 0, 1000));
  } else if (key == "signal") {
    ASSIGN_OR_RETURN(fault->signal, Whole(text, key, value));
    if (fault->signal < 1 || fault->signal > 64) return Bad(text, "signal must be 1 to 64");
  } else if (key == "restart") {
    ASSIGN_OR_RETURN(fault->restart_ns, Time(text, key, value));
  } else {
    return Bad(text, Cat("unknown key ", Quote(key), "; valid keys are ", kKeys));
  }
  return OkStatus();
}

void AddTimes(const Planted& planted, codec::JsonWriter* out) {
  out->Key("from_ns");
  out->Uint(static_cast<uint64_t>(planted.from_ns));
  if (planted.to_ns > 0) {
    out->Key("to_ns");
    out->Uint(static_cast<uint64_t>(planted.to_ns));
  }
  if (planted.from_step >= 0) {
    out->Key("from_step");
    out->Uint(static_cast<uint64_t>(planted.from_step));
  }
}

}  // namespace

std::string_view FaultName(FaultKind kind) { return kNames[static_cast<size_t>(kind)]; }

Status DeliveryFaults::Check() const {
  for (const auto& [flag, share] :
       {std::pair("late", late), std::pair("drop", dropped), std::pair("duplicate", duplicated),
        std::pair("reorder", reordered)}) {
    if (!(share >= 0 && share <= 1))
      return InvalidArgument(Cat("--", flag, ": must be 0 to 1 (got ", FormatDouble(share), ")"));
  }
  return OkStatus();
}

Status CheckPlan(const LoadPlan& plan) {
  struct Bound {
    std::string_view flag;
    int64_t value;
    int64_t least;
    int64_t most;
  };
  for (const Bound& b :
       {Bound{"jobs", plan.jobs, 1, 100'000}, Bound{"nodes", plan.nodes, 1, 20'000},
        Bound{"gpus", plan.gpus, 0, 64}, Bound{"cores", plan.cores, 0, 4096},
        Bound{"ranks", plan.ranks_of_job(), 0, 100'000},
        Bound{"logged", plan.logged_metrics, 0, 100}}) {
    if (b.value < b.least || b.value > b.most)
      return InvalidArgument(
          Cat("--", b.flag, ": must be ", b.least, " to ", b.most, " (got ", b.value, ")"));
  }
  if (plan.step_ns < kNanosPerMilli) return InvalidArgument("--step: must be at least 1ms");
  if (plan.interval_ns < 10 * kNanosPerMilli || plan.interval_ns > 60 * kNanosPerSecond)
    return InvalidArgument("--interval: must be between 10ms and 60s");
  if (plan.duration_ns < kNanosPerSecond) return InvalidArgument("--duration: must be at least 1s");
  if (plan.name.empty() || StartsWith(plan.name, "__"))
    return InvalidArgument("--name: must not be empty or start with __");
  return plan.delivery.Check();
}

StatusOr<Fault> ParseFault(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ',');
  Fault fault;
  const auto name = std::find(kNames.begin(), kNames.end(), Trim(parts[0]));
  if (name == kNames.end())
    return Bad(text, "unknown kind; valid kinds are straggler, stall, hang, death, nan, gpu, leak");
  fault.kind = static_cast<FaultKind>(name - kNames.begin());
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t at = parts[i].find('=');
    if (at == std::string_view::npos)
      return Bad(text, Cat(Quote(parts[i]), " must be KEY=VALUE; valid keys are ", kKeys));
    RETURN_IF_ERROR(
        SetKey(text, Trim(parts[i].substr(0, at)), Trim(parts[i].substr(at + 1)), &fault));
  }
  return fault;
}

Status CompleteFaults(int64_t count, LoadPlan* plan) {
  if (count > plan->jobs)
    return InvalidArgument(Cat("--faults: each of the ", count,
                               " faults requires its own job (got --jobs ", plan->jobs, ")"));
  for (int64_t i = 0; i < count; ++i) {
    Fault fault;
    // A memory leak can be detected only after 20 minutes, and a GPU fault requires a GPU.
    std::vector<FaultKind> kinds = {FaultKind::kStraggler, FaultKind::kStall, FaultKind::kHang,
                                    FaultKind::kDeath, FaultKind::kNan};
    if (plan->gpus > 0) kinds.push_back(FaultKind::kGpuDrop);
    if (plan->duration_ns >= 30 * 60 * kNanosPerSecond) kinds.push_back(FaultKind::kLeak);
    fault.kind = kinds[Mix(plan->seed, 0xfa, static_cast<uint64_t>(i)) % kinds.size()];
    // The faults are distributed across the jobs, so that no job has more than one.
    fault.job = i * plan->jobs / std::max<int64_t>(count, 1);
    plan->faults.push_back(fault);
  }
  const int64_t ranks = plan->ranks_of_job();
  // Minimum lifetime of a job. The job's fault must start within this time.
  const int64_t life_ns = std::min(plan->duration_ns, plan->life_ns / 2);
  for (size_t i = 0; i < plan->faults.size(); ++i) {
    Fault& fault = plan->faults[i];
    if (fault.job >= plan->jobs)
      return InvalidArgument(Cat("--fault ", FaultName(fault.kind),
                                 ": job must be less than --jobs (got job ", fault.job, ", --jobs ",
                                 plan->jobs, ")"));
    if (fault.rank >= ranks || (ranks == 0 && NeedsRank(fault.kind)))
      return InvalidArgument(Cat("--fault ", FaultName(fault.kind),
                                 ": rank must be between 0 and --ranks - 1 (got rank ", fault.rank,
                                 ", --ranks ", ranks, ")"));
    if (fault.kind == FaultKind::kGpuDrop && plan->gpus == 0)
      return InvalidArgument("--fault gpu: nodes do not have GPUs; specify --gpus");
    const uint64_t bits = Mix(plan->seed, 0xfb, i);
    if (fault.rank < 0 && NeedsRank(fault.kind))
      fault.rank = static_cast<int64_t>(bits % static_cast<uint64_t>(ranks));
    if (fault.from_ns < 0 && fault.from_step < 0) {
      const double share = 0.35 + 0.15 * Uniform(Mix(bits));
      fault.from_ns = static_cast<int64_t>(share * static_cast<double>(life_ns / kNanosPerMilli)) *
                      kNanosPerMilli;
    }
  }
  return OkStatus();
}

Expectation ExpectationOf(const Planted& planted, int64_t ranks) {
  Expectation out;
  const std::string rank = Cat(planted.rank);
  std::vector<std::string> each;
  if (planted.rank >= 0) {
    each.push_back(rank);
  } else {
    for (int64_t r = 0; r < ranks; ++r) each.push_back(Cat(r));
  }
  const std::vector<std::string> ends = {"RankDied", "DeadRank", "AllRanksSilent", "HangSuspected",
                                         "CollectiveHang"};
  switch (planted.fault.kind) {
    case FaultKind::kStraggler:
      out.must = {{"StragglerRank", {{"rank", rank}}}};
      break;
    case FaultKind::kStall:
      if (each.size() >= 3) {  // the rule folds them into one issue for the whole job
        out.must = {{"DataStallShare", {{"ranks", "all"}}}};
      } else {
        for (const std::string& r : each) out.must.push_back({"DataStallShare", {{"rank", r}}});
      }
      out.may = {"StragglerRank"};
      break;
    case FaultKind::kHang:
      out.must = {{"CollectiveHang", {{"rank", rank}}}};
      out.may = {"HangSuspected", "JobStalled"};
      break;
    case FaultKind::kDeath:
      out.must = {{"RankDied", {{"rank", rank}}}};
      out.may = ends;
      break;
    case FaultKind::kNan:
      for (const std::string& r : each) out.must.push_back({"LossNotFinite", {{"rank", r}}});
      break;
    case FaultKind::kGpuDrop:
      out.must = {{"XidRestartNode", {{"node", planted.node}, {"gpu", Cat(planted.gpu)}}}};
      out.may = ends;
      break;
    case FaultKind::kLeak:
      out.must = {{"HostLeak", {{"node", planted.node}, {"rank", rank}}}};
      out.may = {"OomForecast"};
      break;
  }
  return out;
}

std::string PlantedJson(const Planted& planted, int64_t ranks) {
  codec::JsonWriter out;
  out.BeginObject();
  out.Key("fault");
  out.String(FaultName(planted.fault.kind));
  out.Key("job");
  out.String(planted.job);
  out.Key("attempt");
  out.Uint(planted.attempt);
  if (planted.rank >= 0) {
    out.Key("rank");
    out.Uint(static_cast<uint64_t>(planted.rank));
  }
  out.Text("node", planted.node);
  if (planted.gpu >= 0) {
    out.Key("gpu");
    out.Uint(static_cast<uint64_t>(planted.gpu));
  }
  AddTimes(planted, &out);
  const Expectation expectation = ExpectationOf(planted, ranks);
  out.Key("expect");
  out.BeginArray();
  for (const Expected& expected : expectation.must) {
    out.BeginObject();
    out.Key("rule");
    out.String(expected.rule);
    out.Key("labels");
    out.BeginObject();
    for (const auto& [name, value] : expected.labels) {
      out.Key(name);
      out.String(value);
    }
    out.EndObject();
    out.EndObject();
  }
  out.EndArray();
  out.Key("may");
  out.BeginArray();
  for (const std::string& rule : expectation.may) out.String(rule);
  out.EndArray();
  out.EndObject();
  return out.Take();
}

}  // namespace pitwall::loadgen
