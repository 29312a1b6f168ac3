# Installs missing dependencies.
. "$(dirname "$0")/parts/stage.sh"
deploy/install-deps.sh
