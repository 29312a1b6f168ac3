// Sockets to addresses that a policy allows: for the callbacks of libcurl.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "services/adapters/http/client/address_policy.h"

namespace pitwall::http {

// Whether a host is written as loopback: localhost, 127.0.0.0/8, ::1 (in brackets or not).
bool IsLoopbackName(std::string_view host);

// A socket for a connection to `address`, or -1 when the policy refuses it; *refused says why. The
// check is on the address that is used, so a name that changes its mind gains nothing.
int OpenCheckedSocket(const AddressPolicy& policy, bool loopback_allowed, int family, int type,
                      int protocol, const sockaddr* address, std::string* refused);

}  // namespace pitwall::http
