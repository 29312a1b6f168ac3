#include "services/app/host/server_access.h"

#include <utility>

#include "services/app/config/secret_ref.h"
#include "services/base/listen_address.h"
#include "services/base/log.h"
#include "services/base/system/random_hex.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

StatusOr<std::string> MakeToken() {
  StatusOr<std::string> token = RandomHex(24);
  if (!token.ok()) return Annotate(token.status(), "token cannot be generated; set token_file");
  return token;
}

}  // namespace

StatusOr<AccessTokens> MakeAccessTokens(const std::string& listen, const std::string& view_place,
                                        const std::string& act_place, std::string_view what) {
  ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(listen));
  const auto token = [&](const std::string& place, std::string_view role) -> StatusOr<std::string> {
    if (!place.empty()) return ReadToken(place);
    if (address.loopback) return std::string();
    ASSIGN_OR_RETURN(std::string made, MakeToken());
    PrintError(Cat(what, " listens on an address other than loopback (", listen,
                   "); token of the role ", role, ", printed only once: ", made, "\n"));
    return made;
  };
  AccessTokens tokens;
  ASSIGN_OR_RETURN(tokens.view, token(view_place, "view"));
  ASSIGN_OR_RETURN(tokens.act, token(act_place, "act"));
  if (!tokens.empty() && tokens.view == tokens.act)
    return InvalidArgument(Cat(what, ": the view and act tokens must differ; change one of them"));
  return tokens;
}

Status WarnWithoutTls(std::string_view what, const std::string& listen, const TlsConfig& tls) {
  ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(listen));
  if (!address.loopback && tls.certificate.empty()) {
    PITWALL_LOG(kWarning, what, listen, ": address is not loopback and is served without TLS (",
                what, ".tls); the token and all data are exposed on the network");
  }
  return OkStatus();
}

}  // namespace pitwall
