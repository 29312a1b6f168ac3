// Signatures of Standard Webhooks 1.0.0: HMAC-SHA256 over "<id>.<timestamp>.<body>", header
// "v1,<base64>".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::http {

// `secrets`: "whsec_<base64 of 24 to 64 bytes>", at least one; several during a rotation, each
// signs. InvalidArgument never repeats a secret.
StatusOr<std::unique_ptr<WebhookSigner>> MakeStandardWebhooksSigner(
    const std::vector<std::string>& secrets);

// A secret from where it is kept: "file:<path>" (surrounding white space dropped) or "env:<NAME>".
// Never from the command line or the configuration itself.
StatusOr<std::string> ReadSecret(std::string_view where);

}  // namespace pitwall::http
