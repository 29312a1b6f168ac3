#include "services/app/cli/history/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::history_client {
namespace {

constexpr char kJob[] =
    R"({"id":"a1","name":"bert","owner":"uid:7","state":"ended","first_ns":"1767225600000000000",
  "last_ns":"1767229200500000000","started_ns":"1767225600000000000","ended_ns":"1767229205000000000","done_ns":"1767229200000000000",
  "end_detail":"died","attempt_count":2,"ranks":8,"nodes":1,"open_issues":0,"found_issues":3,"worst_severity":"critical","samples":12345678,
  "bytes":9437184,"raw_from_ns":null,"archived":false,"link":"/jobs/a1"})";

TEST(JobText, JobTable_HasOneLinePerJob) {
  Json running = Json::parse(kJob);
  running["id"] = "longer-id";
  running["state"] = "running";
  running["end_detail"] = nullptr;
  running["ended_ns"] = nullptr;
  running["done_ns"] = nullptr;
  EXPECT_EQ(JobTable(Json::array({Json::parse(kJob), running})),
            "JOB        STATE    STARTED              LASTED  ATTEMPTS  RANKS  OPEN  FOUND  WORST  "
            "   SAMPLES  BYTES\n"
            "a1         died     2026-01-01 00:00:00  1h      2         8      0     3      "
            "critical  12.35 M  9 MiB\n"
            "longer-id  running  2026-01-01 00:00:00  1h      2         8      0     3      "
            "critical  12.35 M  9 MiB\n");
}

TEST(JobText, JobPage_ListsAttemptsPartsAndIssues) {
  Json job = Json::parse(kJob);
  job["attempts"] = Json::parse(
      R"([{"attempt":1,"began_ns":"1767225600000000000","ended_ns":"1767225660000000000",
    "end_detail":"died","lost":[{"rank":3},{"rank":5}]},{"attempt":2,"began_ns":"1767225670000000000","ended_ns":null,"lost":[]}])");
  job["summary"] =
      Json::parse(R"({"parts":[{"part":"training_loop","seconds":59.5,"share":0.975}]})");
  job["found"] = Json::parse(R"({"hangs/hangs/CollectiveHang":2})");
  job["raw_from_ns"] = "1767225700000000000";
  const std::string page = JobPage(job);
  for (const char* text :
       {"job       a1", "state     died", "3 found", "12.35 M samples, 9 MiB", "rank 3, rank 5",
        "training_loop  59s500ms  97.5 %", "hangs/hangs/CollectiveHang  2", "raw from",
        "2        2026-01-01 00:01:10"})
    EXPECT_THAT(page, testing::HasSubstr(text)) << page;
}

TEST(JobText, JobPage_ShortJob_ShowsMilliseconds) {
  Json job = Json::parse(kJob);
  job["done_ns"] = "1767225600215999000";
  EXPECT_THAT(JobTable(Json::array({job})), testing::HasSubstr(" 215ms "));
}

TEST(JobText, JobPage_EmptyJob_DoesNotFail) {
  EXPECT_THAT(JobPage(Json::object()), testing::HasSubstr("0 samples"));
  EXPECT_THAT(JobTable(Json::parse("[{}]")), testing::HasSubstr("-"));
}

}  // namespace
}  // namespace pitwall::history_client
