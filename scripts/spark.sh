#!/usr/bin/env bash
# Run Python with a Spark cluster of its own, twice: scripts/spark.sh PYTHON [ARGUMENT...]
#
# A standalone master, two workers (3 GB each) and a Spark Connect server run from the pyspark that PYTHON has. They listen
# on free ports of the loopback interface only and are gone when the command has ended, however it ended. The command
# finds the address in STEELYARD_TEST_SPARK: the master's the first time, Spark Connect's the second, since one process
# cannot hold sessions of both kinds. SPARK_MODES="master" chooses one of them. A Java runtime is installed with apt
# when there is none.
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: $0 PYTHON [ARGUMENT...]" >&2
    exit 2
fi

java_version() {
    "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p'
}

version=$(java_version || true)
if [ "${version:-0}" -lt 17 ]; then
    if ! command -v apt-get >/dev/null; then
        echo "$0: Spark needs Java 17 or newer, and there is no apt-get to install it with" >&2
        exit 1
    fi
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo)
    fi
    echo "$0: installing a Java runtime" >&2
    unset JAVA_HOME
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >&2 ||
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends default-jre-headless >&2
fi

python=$(cd "$(dirname "$(command -v "$1")")" && pwd)/$(basename "$1")
SPARK_HOME=$("$python" -c 'import importlib.util as u, os; print(os.path.dirname(u.find_spec("pyspark").origin))')
folder=$(mktemp -d "${TMPDIR:-/tmp}/steelyard-spark.XXXXXX")
mkdir "$folder/conf" "$folder/work" "$folder/local"

# Loopback alone, for every process that reads these: the daemons, the executors they start, and the command itself.
export SPARK_HOME SPARK_CONF_DIR=$folder/conf SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS=$folder/local
export SPARK_DAEMON_MEMORY=256m PYSPARK_PYTHON=$python PYSPARK_DRIVER_PYTHON=$python
cat >"$folder/conf/spark-defaults.conf" <<EOF
spark.driver.host            127.0.0.1
spark.driver.bindAddress     127.0.0.1
spark.driver.memory          2g
spark.executor.memory        2g
spark.executor.cores         1
spark.cores.max              2
spark.ui.enabled             false
spark.master.rest.enabled    false
spark.ui.showConsoleProgress false
spark.sql.shuffle.partitions 4
EOF
cat >"$folder/conf/log4j2.properties" <<EOF
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
EOF

daemons=()
cleanup() {
    local pid
    for pid in "${daemons[@]}"; do
        kill -- "-$pid" 2>/dev/null || true
    done
    for pid in "${daemons[@]}"; do
        for _ in $(seq 50); do
            kill -0 -- "-$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL -- "-$pid" 2>/dev/null || true
    done
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_port() {
    "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# In a process group of its own, so that the executors that a worker starts end with it.
start() {
    local name=$1
    shift
    setsid "$@" >"$folder/$name.log" 2>&1 &
    daemons+=($!)
}

listening() {
    local port=$1 name=$2
    for _ in $(seq 600); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            return
        fi
        kill -0 "${daemons[-1]}" 2>/dev/null || break
        sleep 0.2
    done
    echo "$0: $name did not start" >&2
    cat "$folder/$name.log" >&2
    exit 1
}

class=$SPARK_HOME/bin/spark-class
port=$(free_port)
master=spark://127.0.0.1:$port
start master "$class" org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" --webui-port 0
listening "$port" master
for number in 1 2; do
    start "worker-$number" "$class" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --webui-port 0 \
        --cores 2 --memory 3g --work-dir "$folder/work" "$master"
done

modes=${SPARK_MODES:-master connect}
status=0
for mode in $modes; do
    if [ "$mode" = connect ]; then
        port=$(free_port)
        start connect env SPARK_DAEMON_MEMORY=2g "$SPARK_HOME/bin/spark-submit" --class org.apache.spark.sql.connect.service.SparkConnectServer \
            --master "$master" --conf spark.connect.grpc.binding.address=127.0.0.1 \
            --conf "spark.connect.grpc.binding.port=$port"
        listening "$port" connect
        export STEELYARD_TEST_SPARK=sc://127.0.0.1:$port
    else
        export STEELYARD_TEST_SPARK=$master
    fi
    echo "$0: $STEELYARD_TEST_SPARK" >&2
    "$@" || status=$?
done
exit "$status"
