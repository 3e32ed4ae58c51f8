"""The acceptance cases lie beside the project; where they don't, `.ci/run` says so, and nothing here is collected."""

from rehearsal.acceptance import FOLDER

collect_ignore_glob = [] if FOLDER.exists() else ["test_cases_*.py"]
