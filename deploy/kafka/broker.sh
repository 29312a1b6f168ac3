#!/usr/bin/env bash
# A single Apache Kafka broker (KRaft, no Docker, no ZooKeeper) for tests and demos. Not for production.
#
#   broker.sh start DIR [PORT]   starts it in DIR (created if missing); prints "bootstrap=127.0.0.1:PORT" once it responds.
#                                If it is running already, prints the line again.
#   broker.sh stop DIR           stops it (SIGTERM, then SIGKILL after 20 s); succeeds if none is running
#   broker.sh pause|resume DIR   SIGSTOP / SIGCONT: connections stay open without responses
#   broker.sh kill DIR           SIGKILL, like a crash; a later `start` restarts it on the same port with its data
#   broker.sh status DIR         prints the bootstrap line and exits with 0 if it responds
#   broker.sh fetch              only downloads the jars
#
# The jars are downloaded from Maven Central once and stay in ${XDG_CACHE_HOME:-~/.cache}/pitwall/kafka-<version>.
# Environment: KAFKA_VERSION (3.9.1; 4.1.0 works too), KAFKA_HEAP (512m), PITWALL_KAFKA_CACHE (cache directory),
# KAFKA_START_TIMEOUT_S (90). DIR holds data, log (broker.log), pid, port, server.properties.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=${KAFKA_VERSION:-3.9.1}
heap=${KAFKA_HEAP:-512m}
cache=${PITWALL_KAFKA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pitwall}/kafka-$version
start_timeout=${KAFKA_START_TIMEOUT_S:-90}

fail() { echo "broker.sh: $*" >&2; exit 1; }
usage() { sed -n '2,14p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' >&2; exit 2; }

need_java() {
  command -v java >/dev/null || fail "java is missing (Debian: apt-get install openjdk-17-jre-headless)"
  local major
  major=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1)
  [[ ${major:-0} -ge 17 ]] || fail "java must be version 17 or newer (found '${major:-unknown}')"
}

# Downloads the jars into the cache unless they exist. Safe for concurrent callers.
fetch() {
  [[ -e $cache/complete ]] && return
  command -v mvn >/dev/null || fail "Kafka $version is not in $cache and maven is missing (Debian: apt-get install maven)"
  mkdir -p "$(dirname "$cache")"
  exec 8>"$cache.lock"
  flock 8
  if [[ ! -e $cache/complete ]]; then
    rm -rf "$cache"
    mkdir -p "$cache/libs"
    echo "broker.sh: fetching Kafka $version from Maven Central into $cache" >&2
    mvn -q -B -f "$here/pom.xml" "-Dkafka.version=$version" "-P$(logging_profile)" dependency:copy-dependencies \
      -DincludeScope=runtime "-DoutputDirectory=$cache/libs" >"$cache/mvn.log" 2>&1 ||
      { tail -20 "$cache/mvn.log" >&2; fail "maven could not fetch Kafka $version"; }
    ls "$cache"/libs/kafka_2.13-"$version".jar >/dev/null 2>&1 || fail "maven did not fetch kafka_2.13-$version.jar"
    touch "$cache/complete"
  fi
  exec 8>&-
}

# Kafka 3.x logs through log4j 1 (reload4j), 4.x through slf4j.
logging_profile() { [[ ${version%%.*} -ge 4 ]] && echo slf4j-simple || echo reload4j; }

# Succeeds if a process listens on the port, according to connect().
port_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

free_port() {
  local port tries=0
  while ((tries++ < 200)); do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))  # below the kernel's ephemeral port range
    [[ $port != "${1:-}" ]] && ! port_taken "$port" && { echo "$port"; return; }
  done
  fail "no free port found"
}

running_pid() {
  local pid
  [[ -s $dir/pid ]] || return 1
  pid=$(<"$dir/pid")
  # The PID may belong to another process by now, so the process must also be the broker of this directory.
  kill -0 "$pid" 2>/dev/null && tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF -- "$dir/server.properties" || return 1
  echo "$pid"
}

# Sends an ApiVersions request (version 0) and expects a plausible response length. A response shows that the broker's request threads work.
answers() {
  local port=$1 length
  length=$(
    exec 2>/dev/null
    exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
    printf '\x00\x00\x00\x0e\x00\x12\x00\x00\x00\x00\x00\x01\x00\x04ping' >&3
    timeout 2 head -c 8 <&3 | od -An -tx1 | tr -d ' \n'
  ) || return 1
  [[ ${length:8:8} == 00000001 ]]
}

# Succeeds if the broker responds and its metadata lists it as the leader of new partitions. The leader check is skipped without kcat.
ready() {
  answers "$1" || return 1
  command -v kcat >/dev/null || return 0
  timeout 5 kcat -L -b "127.0.0.1:$1" -m 2 2>/dev/null | grep -q "broker 1 at"
}

write_properties() {
  local port=$1 controller=$2
  cat >"$dir/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$dir/data
num.partitions=4
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
# After a kill, the new broker must wait for the old broker's session to end.
broker.heartbeat.interval.ms=1000
broker.session.timeout.ms=4000
PROPERTIES
  cat >"$dir/log4j.properties" <<PROPERTIES
log4j.rootLogger=WARN, stdout
log4j.logger.kafka.server.KafkaRaftServer=INFO
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
PROPERTIES
}

start() {
  local port pid java_options wanted=${1:-}
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  if pid=$(running_pid); then
    port=$(<"$dir/port")
    [[ -z $wanted || $wanted == "$port" ]] || fail "already runs in $dir on port $port"
  else
    need_java
    fetch
    if [[ -s $dir/port && ( -z $wanted || $wanted == "$(<"$dir/port")" ) ]]; then
      port=$(<"$dir/port")  # after a stop or a crash: the same port, so that clients reconnect
      port_taken "$port" && fail "port $port of $dir is taken by another process"
    else
      port=${wanted:-$(free_port)}
      port_taken "$port" && fail "port $port is taken"
      write_properties "$port" "$(free_port "$port")"
      echo "$port" >"$dir/port"
    fi
    java_options=(-cp "$cache/libs/*")
    [[ $(logging_profile) == reload4j ]] && java_options+=("-Dlog4j.configuration=file:$dir/log4j.properties") ||
      java_options+=(-Dorg.slf4j.simpleLogger.defaultLogLevel=warn)
    if [[ ! -e $dir/data/meta.properties ]]; then
      java -Xmx128m "${java_options[@]}" kafka.tools.StorageTool format \
        -t "$(java -Xmx128m "${java_options[@]}" kafka.tools.StorageTool random-uuid 2>/dev/null | tail -1)" \
        -c "$dir/server.properties" >"$dir/format.log" 2>&1 || { cat "$dir/format.log" >&2; fail "format failed"; }
    fi
    # The broker runs in a separate session, so that Ctrl-C in the caller's terminal does not stop it.
    setsid java "-Xmx$heap" -Xms128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${java_options[@]}" \
      kafka.Kafka "$dir/server.properties" >>"$dir/broker.log" 2>&1 </dev/null 8>&- &
    pid=$!
    disown
    echo "$pid" >"$dir/pid"
  fi
  local deadline=$((SECONDS + start_timeout))
  until ready "$port"; do
    kill -0 "$pid" 2>/dev/null || { tail -20 "$dir/broker.log" >&2; fail "the broker ended while starting"; }
    ((SECONDS < deadline)) || { tail -20 "$dir/broker.log" >&2; fail "no response on port $port after ${start_timeout} s"; }
    sleep 0.1
  done
  echo "bootstrap=127.0.0.1:$port"
}

stop() {
  local pid
  pid=$(running_pid) || { rm -f "$dir/pid"; return 0; }
  kill -CONT "$pid" 2>/dev/null || true
  kill -TERM "$pid" 2>/dev/null || true
  local deadline=$((SECONDS + 20))
  while running_pid >/dev/null; do
    ((SECONDS < deadline)) || { kill -KILL "$pid" 2>/dev/null || true; break; }
    sleep 0.1
  done
  rm -f "$dir/pid"
}

signal() {
  local pid
  pid=$(running_pid) || fail "no broker runs in $dir"
  kill "-$1" "$pid"
}

crash() {
  local pid
  pid=$(running_pid) || fail "no broker runs in $dir"
  kill -KILL "$pid"
  while running_pid >/dev/null; do sleep 0.05; done
  rm -f "$dir/pid"
}

command=${1:-}
if [[ $command == fetch ]]; then
  fetch
  exit
fi
[[ $# -ge 2 ]] || usage
dir=$2
[[ -d $dir ]] && dir=$(cd "$dir" && pwd)
case $command in
  start) start "${3:-}" ;;
  stop) stop ;;
  pause) signal STOP ;;
  resume) signal CONT ;;
  kill) crash ;;
  status)
    running_pid >/dev/null && answers "$(<"$dir/port")" || fail "no broker answers in $dir"
    echo "bootstrap=127.0.0.1:$(<"$dir/port")"
    ;;
  *) usage ;;
esac
