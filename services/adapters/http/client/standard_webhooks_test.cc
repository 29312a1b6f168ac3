#include "services/adapters/http/client/standard_webhooks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "absl/strings/escaping.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

// Independent implementation for comparison: SHA-256 from FIPS 180-4 and HMAC from RFC 2104.
std::string Sha256(std::string message) {
  constexpr uint32_t k[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const uint64_t bits = message.size() * 8;
  message.push_back('\x80');
  while (message.size() % 64 != 56) message.push_back('\0');
  for (int i = 7; i >= 0; --i) message.push_back(static_cast<char>(bits >> (8 * i)));
  const auto rotate = [](uint32_t x, int n) { return (x >> n) | (x << (32 - n)); };
  for (size_t block = 0; block < message.size(); block += 64) {
    uint32_t w[64];
    for (size_t i = 0; i < 16; ++i) {
      w[i] = 0;
      for (size_t j = 0; j < 4; ++j) {
        w[i] = w[i] << 8 | static_cast<unsigned char>(message[block + 4 * i + j]);
      }
    }
    for (size_t i = 16; i < 64; ++i) {
      const uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t v[8];
    std::copy(std::begin(h), std::end(h), std::begin(v));
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
      const uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
      const uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
      const uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      for (size_t j = 7; j > 0; --j) v[j] = v[j - 1];
      v[4] += t1;
      v[0] = t1 + t2;
    }
    for (size_t i = 0; i < 8; ++i) h[i] += v[i];
  }
  std::string out;
  for (const uint32_t word : h) {
    for (int i = 3; i >= 0; --i) out.push_back(static_cast<char>(word >> (8 * i)));
  }
  return out;
}

std::string Hmac(std::string key, std::string_view text) {
  key.resize(64, '\0');  // keys in this test have at most one block
  std::string inner = key, outer = key;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return Sha256(outer + Sha256(inner + std::string(text)));
}

TEST(StandardWebhooks, ReferenceImplementationIsCorrect) {
  // Test vectors: the example in FIPS 180-4 and test case 2 in RFC 4231.
  EXPECT_EQ(Hex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Hmac("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(StandardWebhooks, MatchesSpecificationExample) {
  // Example from the libraries that accompany the specification.
  const auto signer = MakeStandardWebhooksSigner({"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"});
  ASSERT_TRUE(signer.ok()) << signer.status();
  EXPECT_EQ((*signer)->Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(StandardWebhooks, EachSecretProducesSignature) {
  const std::string key_a(24, 'a'), key_b(64, '\xfe');
  const auto signer = MakeStandardWebhooksSigner(
      {"whsec_" + absl::Base64Escape(key_a), "whsec_" + absl::Base64Escape(key_b)});
  ASSERT_TRUE(signer.ok()) << signer.status();
  const std::string body(100'000, '\xff');
  const std::string text = "id.17." + body;
  EXPECT_EQ((*signer)->Sign("id", 17, body), "v1," + absl::Base64Escape(Hmac(key_a, text)) +
                                                 " v1," + absl::Base64Escape(Hmac(key_b, text)));
}

TEST(StandardWebhooks, ErrorsDoNotContainInvalidSecrets) {
  for (const std::string& bad : {std::string("TOPSECRET"), std::string("whsec_TOPSECRET!"),
                                 "whsec_" + absl::Base64Escape("TOPSECRET"),
                                 "whsec_" + absl::Base64Escape(std::string(65, 'x'))}) {
    const auto signer = MakeStandardWebhooksSigner({bad});
    EXPECT_EQ(signer.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(signer.status().ToString().find(bad.substr(6)), std::string::npos);
  }
  EXPECT_FALSE(MakeStandardWebhooksSigner({}).ok());
}

TEST(ReadSecret, ReadsFileAndEnvironmentOnly) {
  setenv("PITWALL_TEST_SECRET", " abc\n", 1);
  EXPECT_EQ(*ReadSecret("env:PITWALL_TEST_SECRET"), "abc");
  unsetenv("PITWALL_TEST_SECRET");
  EXPECT_EQ(ReadSecret("env:PITWALL_TEST_SECRET").status().code(), absl::StatusCode::kNotFound);
  const std::string path = testing::TempDir() + "/pitwall-secret";
  std::ofstream(path) << "whsec_x\n";
  EXPECT_EQ(*ReadSecret("file:" + path), "whsec_x");
  std::ofstream(path, std::ios::trunc) << "\n";
  EXPECT_EQ(ReadSecret("file:" + path).status().code(), absl::StatusCode::kInvalidArgument);
  std::remove(path.c_str());
  EXPECT_EQ(ReadSecret("file:" + path).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadSecret("whsec_PLAIN").status().ToString().find("PLAIN"), std::string::npos);
}

}  // namespace
}  // namespace pitwall::http
