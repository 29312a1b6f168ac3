# Installs what is missing.
. "$(dirname "$0")/common.sh"
deploy/install-deps.sh
# What builds the page. Without it the binary says that it has none, and the stage page fails.
services/insights/page/toolchain.sh install || echo "NOTE: the page's toolchain cannot be had here; it is built without"
