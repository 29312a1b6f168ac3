#include "services/app/host/server_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pitwall {
namespace {

using ::testing::HasSubstr;

// Writes a token file that only its owner can read, and returns its path.
std::string TokenFile(const std::string& name, const std::string& token) {
  std::string path = ::testing::TempDir() + "pitwall_" + name;
  std::ofstream(path) << token << "\n";
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  return path;
}

TEST(ServerAccess, LoopbackDoesNotRequireTokens) {
  const auto tokens = MakeAccessTokens("127.0.0.1:0", "", "", "HTTP");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_TRUE(tokens->empty());
}

TEST(ServerAccess, OtherAddressesGetDifferentTokens) {
  ::testing::internal::CaptureStderr();
  const auto tokens = MakeAccessTokens("0.0.0.0:0", "", "", "HTTP");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("token of the role view"));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_FALSE(tokens->view.empty());
  EXPECT_NE(tokens->view, tokens->act);
}

TEST(ServerAccess, EqualTokensAreRejected) {
  const std::string file = TokenFile("token", "0123456789abcdef0123456789abcdef");
  const auto tokens = MakeAccessTokens("127.0.0.1:0", file, file, "HTTP");
  EXPECT_EQ(tokens.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tokens.status().message()), HasSubstr("must differ"));
}

TEST(ServerAccess, InvalidAddress_ReturnsError) {
  EXPECT_FALSE(MakeAccessTokens("nowhere", "", "", "HTTP").ok());
  EXPECT_FALSE(WarnWithoutTls("http", "nowhere", TlsConfig()).ok());
  EXPECT_TRUE(WarnWithoutTls("http", "127.0.0.1:0", TlsConfig()).ok());
}

}  // namespace
}  // namespace pitwall
