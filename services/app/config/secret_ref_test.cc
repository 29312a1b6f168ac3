#include "services/app/config/secret_ref.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace pitwall {
namespace {

using SecretMap = std::map<std::string, std::string>;

TEST(SecretPlace, ReadSecrets_ValueIsLocation_ReadsSecret) {
  const std::string path = testing::TempDir() + "secret_place_password";
  std::ofstream(path) << "hunter2\n";
  ::setenv("PITWALL_SECRET_PLACE_TEST", " s3cret ", 1);
  const auto read = ReadSecrets({{"sasl.password", "file:" + path},
                                 {"ssl.key.password", "env:PITWALL_SECRET_PLACE_TEST"},
                                 {"ssl.ca.location", "/etc/ca.pem"}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, (SecretMap{{"sasl.password", "hunter2"},
                              {"ssl.key.password", "s3cret"},
                              {"ssl.ca.location", "/etc/ca.pem"}}));
}

TEST(SecretPlace, ReadSecrets_NoSecretAtLocation_ErrorNamesKey) {
  ::unsetenv("PITWALL_SECRET_PLACE_MISSING");
  for (const char* place : {"env:PITWALL_SECRET_PLACE_MISSING", "file:/no/such/file"}) {
    const auto read = ReadSecrets({{"sasl.password", place}});
    ASSERT_FALSE(read.ok()) << place;
    EXPECT_THAT(std::string(read.status().message()), testing::HasSubstr("sasl.password"));
  }
}

}  // namespace
}  // namespace pitwall
