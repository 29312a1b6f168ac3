#include "services/adapters/http/client/standard_webhooks.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "absl/strings/escaping.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

class StandardWebhooksSigner final : public WebhookSigner {
 public:
  explicit StandardWebhooksSigner(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  std::string Sign(std::string_view id, int64_t timestamp, std::string_view body) const override {
    const std::string text = Cat(id, ".", timestamp, ".", body);
    std::string out;
    for (const std::string& key : keys_) {
      std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
      unsigned length = 0;
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
           &length);
      const absl::string_view bytes(reinterpret_cast<const char*>(digest.data()), length);
      CatTo(out, out.empty() ? "" : " ", "v1,", absl::Base64Escape(bytes));
    }
    return out;
  }

 private:
  const std::vector<std::string> keys_;
};

}  // namespace

StatusOr<std::unique_ptr<WebhookSigner>> MakeStandardWebhooksSigner(
    const std::vector<std::string>& secrets) {
  if (secrets.empty()) return InvalidArgument("at least one webhook secret must be set");
  std::vector<std::string> keys;
  for (size_t i = 0; i < secrets.size(); ++i) {
    constexpr std::string_view kPrefix = "whsec_";
    std::string key;
    if (!StartsWith(secrets[i], kPrefix) ||
        !absl::Base64Unescape(secrets[i].substr(kPrefix.size()), &key)) {
      return InvalidArgument(Cat("webhook secret ", i + 1, ": must be whsec_<base64>"));
    }
    if (key.size() < 24 || key.size() > 64) {
      return InvalidArgument(
          Cat("webhook secret ", i + 1, " must be 24 to 64 bytes long (got ", key.size(), ")"));
    }
    keys.push_back(std::move(key));
  }
  return std::make_unique<StandardWebhooksSigner>(std::move(keys));
}

StatusOr<std::string> ReadSecret(std::string_view where) {
  if (StartsWith(where, "env:")) {
    const std::string name(where.substr(4));
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0')
      return NotFound(Cat("environment variable ", name, " is not set"));
    return std::string(Trim(value));
  }
  if (StartsWith(where, "file:")) {
    const std::string path(where.substr(5));
    std::ifstream in(path, std::ios::binary);
    if (!in) return NotFound(Cat("cannot read the secret from ", path));
    std::array<char, 4097> text{};
    in.read(text.data(), text.size());
    const std::string_view secret =
        Trim(std::string_view(text.data(), static_cast<size_t>(in.gcount())));
    if (in.gcount() > 4096)
      return InvalidArgument(Cat(path, ": secret must be at most 4096 bytes long"));
    if (secret.empty()) return InvalidArgument(Cat(path, " is empty"));
    return std::string(secret);
  }
  // `where` may contain the secret itself, so the message does not include it.
  return InvalidArgument("secret must be file:<path> or env:<NAME>, not the secret itself");
}

}  // namespace pitwall::http
