// Sockets restricted to addresses that a policy allows, for the callbacks of libcurl.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "services/adapters/http/client/address_policy.h"

namespace pitwall::http {

// Returns true if a host is written as loopback: localhost, 127.0.0.0/8, or ::1 (with or without
// brackets).
bool IsLoopbackName(std::string_view host);

// Returns a socket for a connection to `address`, or -1 if the policy rejects the address; *refused
// contains the reason. The check applies to the resolved address, so a changed DNS record cannot
// bypass it.
int OpenCheckedSocket(const AddressPolicy& policy, bool loopback_allowed, int family, int type,
                      int protocol, const sockaddr* address, std::string* refused);

}  // namespace pitwall::http
