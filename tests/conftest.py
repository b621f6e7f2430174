"""The same examples on every run, so that a failure is everybody's; HYPOTHESIS_PROFILE=random looks further."""

from __future__ import annotations

import os

from hypothesis import settings

from steelyard.settings import CACHE_FOLDER

settings.register_profile("steady", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
os.environ[CACHE_FOLDER] = ""  # no test leans on what an earlier one has kept
