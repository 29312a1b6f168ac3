#include "services/codec/json/json_fields.h"

#include <gtest/gtest.h>

#include <limits>

namespace pitwall::codec {
namespace {

TEST(JsonFields, EachKind_HasItsForm) {
  JsonWriter out;
  out.BeginObject();
  NumberField("number", 0.5, &out);
  NumberField("infinite", std::numeric_limits<double>::infinity(), &out);
  NumberField("missing", std::numeric_limits<double>::quiet_NaN(), &out);
  NsField("ns", std::numeric_limits<int64_t>::min(), &out);
  TimeField("at", 1'700'000'000'000'000'001, &out);
  TimeField("unknown", 0, &out);
  IndexField("rank", 0, &out);
  IndexField("no_rank", -1, &out);
  TextField("empty", "", &out);
  CountField("count", std::numeric_limits<uint64_t>::max(), &out);
  BoolField("flag", false, &out);
  LabelsField("labels", {{"node", "a\"b"}}, &out);
  LabelsField("no_labels", {}, &out);
  out.EndObject();
  EXPECT_EQ(
      out.Take(),
      R"({"number":0.5,"infinite":null,"missing":null,"ns":"-9223372036854775808",)"
      R"("at":"1700000000000000001","unknown":null,"rank":0,"no_rank":null,"empty":"",)"
      R"("count":18446744073709551615,"flag":false,"labels":{"node":"a\"b"},"no_labels":{}})");
}

}  // namespace
}  // namespace pitwall::codec
