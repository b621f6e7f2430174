"""Sessions of Spark: opened by an address, or handed in from Python."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from steelyard.errors import MAX_ERROR_CHARS, ClusterError, MissingExtraError, SteelyardError, UsageError
from steelyard.option_names import option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SparkName: TypeAlias = "str | SparkSession"
"""`spark`, `spark://HOST:PORT`, `sc://HOST:PORT`, or a session."""
ADDRESSES = ("spark://", "sc://", "local[")
"""How the address of a Spark cluster begins."""


def is_spark_session(given: object) -> TypeGuard[SparkSession]:
    """Whether it is a session, of Spark itself or of Spark Connect; asked without importing pyspark."""
    kind = type(given)
    return kind.__name__ == "SparkSession" and kind.__module__.split(".")[0] == "pyspark"


def is_spark(given: object) -> TypeGuard[SparkName]:
    """Whether the name, the address or the value means Spark."""
    if isinstance(given, str):
        return given == "spark" or given.startswith(ADDRESSES)
    return is_spark_session(given)


def spark_session(given: SparkName) -> SparkSession:
    """The session; by an address, one that is opened there. `spark` alone is one that runs already, or local."""
    if not isinstance(given, str):
        return given
    with quiet_spark():
        try:
            from pyspark.errors import PySparkException  # heavy and optional
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise MissingExtraError("pyspark", extra="spark", purpose=option("engine", given)) from error
        builder = SparkSession.builder.appName("steelyard")
        if given.startswith("sc://"):
            builder = builder.remote(given)
        else:  # a running server does not allow this option
            builder = builder.config("spark.ui.showConsoleProgress", "false")
            if given.startswith(ADDRESSES):
                builder = builder.master(given)
        try:
            session = builder.getOrCreate()
            session.range(1).count()  # a server that is not there shows only now
        except ImportError as error:
            raise MissingExtraError(str(error.name), extra="spark", purpose=option("engine", given)) from error
        except (PySparkException, OSError, RuntimeError) as error:
            raise _not_opened(given, error) from error
        return session


def _not_opened(given: str, error: Exception) -> UsageError:
    message = " ".join(str(error).split())[:MAX_ERROR_CHARS]
    hint = "check the address" if given.startswith(ADDRESSES) else "Spark needs Java 17 or newer"
    if "JAVA_GATEWAY_EXITED" in message or "JAVA_HOME" in message:
        hint = "Spark needs Java 17 or newer"
    elif "regular Spark session" in message or "CONNECT" in message.upper().split("]")[0]:
        hint = "a process can use Spark or Spark Connect, not both; check the address"
    return UsageError(f"cannot open a Spark session at {given}: {message}", hint=hint)


@contextmanager
def quiet_spark() -> Iterator[None]:
    """Without Spark's word that it has not been tried with the newest pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def settings_apart(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """The session under settings of its own, so that the user's stay as they are."""
    from pyspark.errors import PySparkNotImplementedError  # heavy and optional

    try:
        apart = session.newSession()
    except (AttributeError, PySparkNotImplementedError):  # Spark Connect of earlier versions
        return session
    for name, value in settings.items():
        apart.conf.set(name, value)
    return apart


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Raise errors of the cluster as one sentence."""
    from pyspark.errors import PySparkException  # heavy and optional

    try:
        yield
    except PySparkException as error:
        raise _failed(error) from error


def _failed(error: Exception) -> SteelyardError:
    text = str(error)
    if "No module named 'steelyard'" in text:
        return UsageError(
            "steelyard is not installed on the cluster workers", hint="install the same version on every worker"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if ": " in line and not line.startswith("at ")), text)
    return ClusterError(last)
