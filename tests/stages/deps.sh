# Installs missing dependencies.
. "$(dirname "$0")/common.sh"
deploy/install-deps.sh
