# Installs what is missing.
. "$(dirname "$0")/common.sh"
deploy/install-deps.sh
