// Tests that messages between peers are either decoded completely or rejected.
#include "services/history/peers/peer_codec.h"

#include <gtest/gtest.h>

#include <bit>

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

JobOverview FullLife() {
  JobOverview life;
  life.id = "a";
  life.name = "b";
  life.owner = "uid:1";
  life.reference = {"p", "c", "n", "k", "m", "u", "q"};
  life.first_ns = 1;
  life.last_ns = 2;
  life.started_ns = 3;
  life.ended_ns = 4;
  life.end_detail = EndDetail::kStopped;
  life.end_text = "stopped by rule p/g/a";
  life.attempts.push_back({.attempt = 7,
                           .began_ns = 1,
                           .ended_ns = 2,
                           .end_detail = EndDetail::kDied,
                           .end_text = "died",
                           .lost = {{5, LostRank{3, "n", 9, std::nullopt, true}},
                                    {6, LostRank{4, "m", std::nullopt, -1, false}}},
                           .first_step_ns = 8,
                           .last_step_ns = 9});
  life.sources["s"] = {"s", "n", 3, 1, 2, 500, true, 11};
  life.found["r"] = 3;
  life.open.count = 4;
  life.open.worst_severity = "critical";
  life.open.stalled_since_ns = 77;
  life.raw_dropped_ns = 78;
  life.samples = 5;
  life.bytes = 6;
  life.raw_from_ns = 7;
  life.archived = true;
  return life;
}

std::string Bytes(const JobOverview& life) {
  BinaryWriter out;
  PutLife(life, &out);
  return out.Take();
}

TEST(PeerCodec, OverviewsRoundTrip) {
  const JobOverview life = FullLife();
  const std::string bytes = Bytes(life);
  BinaryReader in(bytes);
  const JobLifePtr back = TakeLife(&in);
  ASSERT_TRUE(in.Finish("life").ok());
  EXPECT_EQ(Bytes(*back), bytes);
  EXPECT_EQ(back->attempts[0].lost[1].second, life.attempts[0].lost[1].second);
  EXPECT_EQ(back->reference, life.reference);
  EXPECT_EQ(back->end_text, life.end_text);
  EXPECT_EQ(back->attempts[0].end_text, "died");
  EXPECT_EQ(back->sources.at("s").goodbye_ns, 11);
  EXPECT_EQ(back->sources.at("s").interval_ns, 500);
  EXPECT_EQ(back->found, life.found);
  EXPECT_TRUE(back->archived);
}

TEST(PeerCodec, TruncatedMessagesAreRejected) {
  const std::string bytes = Bytes(FullLife());
  for (size_t size = 0; size < bytes.size(); ++size) {
    BinaryReader in(std::string_view(bytes).substr(0, size));
    TakeLife(&in);
    EXPECT_FALSE(in.Finish("life").ok()) << size;
  }
}

TEST(PeerCodec, QueriesAndSamplesRoundTripExactly) {
  SampleQuery query;
  query.job = "j";
  Selector selector;
  selector.matchers.push_back(*Matcher::Make("__name__", MatchOp::kRegex, "a.*"));
  selector.matchers.push_back(*Matcher::Make("rank", MatchOp::kNotEqual, "0"));
  query.selectors = {selector, {}};
  query.range = {5, 9};
  query.limits = {3, 4};
  query.stale_markers = true;
  BinaryWriter out;
  PutQuery(query, &out);
  BinaryReader in(out.data());
  const auto back = TakeQuery(&in);
  ASSERT_TRUE(back.ok() && in.Finish("query").ok());
  BinaryWriter again;
  PutQuery(*back, &again);
  EXPECT_EQ(again.data(), out.data());
  EXPECT_EQ(back->selectors[0].Key(), selector.Key());

  std::vector<SampleColumn> columns(2);
  columns[0].labels = Labels({{"__name__", "x"}});
  columns[0].kind = SeriesKind::kCounter;
  columns[0].times = {1, 2, 5};
  columns[0].values = {StaleMarker(), -0.0, 1e-320};
  columns[0].steps = {kNoStep, 1, 2};
  BinaryWriter samples;
  PutSamples(columns, &samples);
  BinaryReader taken(samples.data());
  const auto all = TakeSamples(&taken);
  ASSERT_TRUE(taken.Finish("samples").ok());
  ASSERT_EQ(all.size(), 2U);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(std::bit_cast<uint64_t>(all[0].values[i]),
              std::bit_cast<uint64_t>(columns[0].values[i]));
  EXPECT_EQ(all[0].times, columns[0].times);
  EXPECT_EQ(all[0].steps, columns[0].steps);
  EXPECT_EQ(all[0].kind, SeriesKind::kCounter);
}

TEST(PeerCodec, NotificationChangeRoundTrips) {
  auto notification = std::make_shared<NotificationRecord>();
  notification->job = "j";
  notification->issues = {"0123"};
  notification->receiver = "hook";
  notification->time = EventTime::FromNs(kNanosPerSecond);
  notification->id = "id";
  Change change;
  change.topic = Change::Topic::kNotification;
  change.job = "j";
  change.notification = notification;
  BinaryWriter out;
  PutChanges({change}, &out);
  const auto back = DecodeChanges(out.data());
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_NE((*back)[0].notification, nullptr);
  EXPECT_EQ((*back)[0].notification->receiver, "hook");
}

TEST(PeerCodec, TruncatedChangesAndPlacesAreRejected) {
  Change change;
  change.place = 70'000;
  change.topic = Change::Topic::kIssue;
  change.job = "j";
  BinaryWriter changes, place;
  PutChanges({change, change}, &changes);
  place.U64(70'000);
  EXPECT_EQ(DecodeChanges(changes.data())->size(), 2U);
  EXPECT_EQ(*DecodePlace(place.data()), 70'000U);
  for (size_t size = 0; size < changes.data().size(); ++size)
    EXPECT_FALSE(DecodeChanges(changes.data().substr(0, size)).ok()) << size;
  for (size_t size = 0; size < place.data().size(); ++size)
    EXPECT_FALSE(DecodePlace(place.data().substr(0, size)).ok()) << size;
  EXPECT_FALSE(DecodePlace(place.data() + "x").ok());
}

TEST(PeerCodec, AnswersKeepTheirStatus) {
  EXPECT_EQ(*TakeAnswer(PutAnswer(std::string("bytes"))), "bytes");
  const auto fault = TakeAnswer(PutAnswer(ResourceExhausted("rows: too many")));
  EXPECT_TRUE(absl::IsResourceExhausted(fault.status()));
  EXPECT_EQ(ToStd(fault.status().message()), "rows: too many");
  EXPECT_TRUE(absl::IsUnavailable(TakeAnswer("<html>").status()));
  EXPECT_TRUE(absl::IsUnavailable(TakeAnswer("").status()));
}

}  // namespace
}  // namespace pitwall::history
