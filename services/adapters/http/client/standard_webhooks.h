// Standard Webhooks 1.0.0 signatures: HMAC-SHA256 over "<id>.<timestamp>.<body>", in a header of
// the form "v1,<base64>".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::http {

// Returns a signer. `secrets` contains at least one "whsec_<base64 of 24 to 64 bytes>". During a
// rotation, it contains several secrets, and each one produces a signature. InvalidArgument errors
// never contain a secret.
StatusOr<std::unique_ptr<WebhookSigner>> MakeStandardWebhooksSigner(
    const std::vector<std::string>& secrets);

// Reads a secret from "file:<path>" (without surrounding whitespace) or "env:<NAME>". Secrets on
// the command line or in the configuration are not supported.
StatusOr<std::string> ReadSecret(std::string_view where);

}  // namespace pitwall::http
