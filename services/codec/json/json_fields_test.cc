#include "services/codec/json/json_fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

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

TEST(JsonFields, NestedFields_HaveTheirForm) {
  JsonWriter out;
  out.BeginObject();
  ObjectField("object", &out, [&] { IndexField("rank", -1, &out); });
  ObjectsField("objects", std::vector<int64_t>{1, -1}, &out,
               [&](int64_t index) { IndexField("index", index, &out); });
  ArrayField("odd", std::vector<int64_t>{1, 2, 3}, &out, [&](int64_t number) {
    if (number % 2 == 1) out.Int(number);
  });
  TextsField("texts", std::vector<std::string>{"a", "b"}, &out);
  NumbersField("numbers", std::vector<double>{0.5, std::numeric_limits<double>::quiet_NaN()}, &out);
  RawField("raw", "{}", &out);
  NullField("null", &out);
  out.EndObject();
  EXPECT_EQ(out.Take(),
            R"({"object":{"rank":null},"objects":[{"index":1},{"index":null}],"odd":[1,3],)"
            R"("texts":["a","b"],"numbers":[0.5,null],"raw":{},"null":null})");
}

}  // namespace
}  // namespace pitwall::codec
