// HTTP routes for the web page. The page's files are embedded in the binary. The page uses the API
// like any other client.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/web/page_files.h"

namespace pitwall::history {

// Returns the routes: "/", "/jobs", and "/jobs/<id>" serve index.html, and "/assets/<name>-<hash>"
// serves its assets. No route requires a token: the files contain no data, and the page must show
// the login form.
std::vector<http::HttpRoute> PageRoutes();

// Returns the routes for the given files, for tests. `files` and `policy` must outlive the routes.
std::vector<http::HttpRoute> PageRoutesOf(std::span<const PageFile> files, std::string_view policy);

}  // namespace pitwall::history
