"""Checks that plugin authors run on their own envs, back ends and packages.

    from pufferlib.testing import check_env, check_plugin

    def test_my_env():
        check_env(MyEnv)

    def test_my_package():
        check_plugin("acme")

Each raises CheckError, an AssertionError, whose message says what is wrong, in which row and step. A RecordingLogger keeps what
loggers are given, to compare another with.
"""

from pufferlib.testing.envs import check_env
from pufferlib.testing.loggers import RecordingLogger
from pufferlib.testing.plugins import check_plugin
from pufferlib.testing.vec_envs import check_vec_env

__all__ = ["RecordingLogger", "check_env", "check_plugin", "check_vec_env"]
