#include "services/loadgen/load_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::loadgen {
namespace {

TEST(LoadPlan, ParsesFaultWithAllKeys) {
  const auto fault = ParseFault("straggler,job=2,rank=3,from=60s,for=2m,factor=1.5");
  ASSERT_TRUE(fault.ok()) << fault.status();
  EXPECT_EQ(fault->kind, FaultKind::kStraggler);
  EXPECT_EQ(fault->job, 2);
  EXPECT_EQ(fault->rank, 3);
  EXPECT_EQ(fault->from_ns, 60 * kNanosPerSecond);
  EXPECT_EQ(fault->for_ns, 120 * kNanosPerSecond);
  EXPECT_EQ(fault->factor, 1.5);
  EXPECT_EQ(ParseFault("nan,from=step:100")->from_step, 100);
  EXPECT_EQ(ParseFault("death,restart=20s,signal=11")->restart_ns, 20 * kNanosPerSecond);
}

TEST(LoadPlan, InvalidFault_ErrorNamesPositionAndValidValues) {
  for (const auto& [text, message] :
       {std::pair("slow", "unknown kind; valid kinds are straggler"),
        std::pair("hang,rank", "\"rank\" must be KEY=VALUE"),
        std::pair("hang,rank=-1", "rank must be a whole number (\"-1\")"),
        std::pair("hang,from=soon", "from must be a duration like 90s"),
        std::pair("stall,share=1.5", "share must be a number from 0 to 0.99"),
        std::pair("death,signal=99", "signal must be 1 to 64"),
        std::pair("hang,color=red", "unknown key \"color\"; valid keys are job, rank")}) {
    const auto fault = ParseFault(text);
    ASSERT_FALSE(fault.ok()) << text;
    EXPECT_THAT(std::string(fault.status().message()), testing::HasSubstr(message)) << text;
    EXPECT_THAT(std::string(fault.status().message()), testing::HasSubstr(Quote(text)));
  }
}

TEST(LoadPlan, SizeOutOfRange_ErrorNamesFlag) {
  LoadPlan plan;
  EXPECT_TRUE(CheckPlan(plan).ok());
  plan.cores = 5000;
  EXPECT_THAT(std::string(CheckPlan(plan).message()),
              testing::HasSubstr("--cores: must be 0 to 4096 (got 5000)"));
  plan = {};
  plan.delivery.dropped = 1.5;
  EXPECT_THAT(std::string(CheckPlan(plan).message()), testing::HasSubstr("--drop: must be 0 to 1"));
}

TEST(LoadPlan, RandomFaults_DependOnSeedAndUseDifferentJobs) {
  const auto kinds = [](uint64_t seed) {
    LoadPlan plan;
    plan.seed = seed;
    plan.jobs = 20;
    EXPECT_TRUE(CompleteFaults(10, &plan).ok());
    std::vector<int64_t> jobs;
    std::string text;
    for (const Fault& fault : plan.faults) {
      jobs.push_back(fault.job);
      CatTo(text, FaultName(fault.kind), " ", fault.rank, " ", fault.from_ns, "\n");
      EXPECT_GE(fault.from_ns, plan.duration_ns / 3);
      EXPECT_LT(fault.from_ns, plan.duration_ns / 2);
    }
    std::sort(jobs.begin(), jobs.end());
    EXPECT_EQ(std::unique(jobs.begin(), jobs.end()), jobs.end());
    return text;
  };
  EXPECT_EQ(kinds(1), kinds(1));
  EXPECT_NE(kinds(1), kinds(2));
  LoadPlan plan;
  EXPECT_THAT(std::string(CompleteFaults(2, &plan).message()),
              testing::HasSubstr("--faults: each of the 2 faults requires its own job"));
}

TEST(LoadPlan, FaultStartsWithinMinimumJobLifetime) {
  LoadPlan plan;
  plan.life_ns = 90 * kNanosPerSecond;
  EXPECT_TRUE(CompleteFaults(1, &plan).ok());
  EXPECT_LT(plan.faults[0].from_ns, 45 * kNanosPerSecond / 2);
}

TEST(LoadPlan, FaultForUnknownRank_IsRejected) {
  LoadPlan plan;
  plan.faults = {*ParseFault("hang,rank=8")};
  EXPECT_THAT(std::string(CompleteFaults(0, &plan).message()),
              testing::HasSubstr("got rank 8, --ranks 8"));
  plan.faults = {*ParseFault("hang,job=1")};
  EXPECT_THAT(std::string(CompleteFaults(0, &plan).message()),
              testing::HasSubstr("got job 1, --jobs 1"));
  plan.gpus = 0;
  plan.faults = {*ParseFault("gpu")};
  EXPECT_THAT(std::string(CompleteFaults(0, &plan).message()),
              testing::HasSubstr("do not have GPUs"));
}

TEST(LoadPlan, PlantedFault_IsFormattedAsOneJsonLine) {
  Planted planted;
  planted.fault = *ParseFault("straggler,rank=3");
  planted.job = "load-0";
  planted.rank = 3;
  planted.node = "load-0-n0";
  planted.from_ns = 1000;
  planted.from_step = 7;
  EXPECT_EQ(
      PlantedJson(planted, 8),
      "{\"fault\":\"straggler\",\"job\":\"load-0\",\"attempt\":1,\"rank\":3,\"node\":\"load-0-n0\","
      "\"from_ns\":1000,\"from_step\":7,\"expect\":[{\"rule\":\"StragglerRank\",\"labels\":{"
      "\"rank\":"
      "\"3\"}}],\"may\":[]}");
}

}  // namespace
}  // namespace pitwall::loadgen
