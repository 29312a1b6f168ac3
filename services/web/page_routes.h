// The page for people: its files, out of the binary. It reads the API like any other client.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/web/page_files.h"

namespace pitwall::history {

// "/", "/jobs", "/jobs/<id>" answer the index, "/assets/<name>-<hash>" the files that it names. All
// are open, since they hold no data: a browser has to show the field for the token somehow.
std::vector<http::HttpRoute> PageRoutes();

// The same over other files, for tests. `files` and `policy` outlive the routes.
std::vector<http::HttpRoute> PageRoutesOf(std::span<const PageFile> files, std::string_view policy);

}  // namespace pitwall::history
