// Sockets for libcurl's callbacks, restricted to addresses that a policy allows.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "services/adapters/http/client/address_policy.h"

namespace pitwall::http {

// Returns true if a URL's host is a literal loopback name or address: localhost, 127.0.0.0/8, or
// ::1 (with or without brackets).
bool IsLoopbackName(std::string_view host);

// Returns a socket for a connection to `address`. If the policy rejects the address, returns -1 and
// sets *refused to the reason. The check applies to the resolved address, so a changed DNS record
// cannot bypass it.
int OpenCheckedSocket(const AddressPolicy& policy, bool loopback_allowed, int family, int type,
                      int protocol, const sockaddr* address, std::string* refused);

}  // namespace pitwall::http
