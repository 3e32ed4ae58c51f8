"""The core must run where nothing but its declared dependencies is installed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

CORE = Path(__file__).parent.parent / "core"
DECLARED = tomllib.loads((CORE / "pyproject.toml").read_text())["project"]["dependencies"]

IMPORT_ALONE = """
import importlib, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"{name} is not declared by the core", name=name)

allowed, modules = (argument.split(",") for argument in sys.argv[1:])
allowed = {*allowed, "sky_core", *sys.stdlib_module_names}
sys.meta_path.insert(0, Refuse())
for module in modules:
    importlib.import_module(module)
"""


def modules_of_the_core() -> list[str]:
    """By name; without the test kit, which has dependencies of its own (the extra `testing`)."""
    files = sorted((CORE / "src").rglob("*.py"))
    names = [".".join(file.relative_to(CORE / "src").with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names if not name.startswith("sky_core.testing.")]


def import_alone(allowed: list[str], modules: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", IMPORT_ALONE, ",".join(allowed), ",".join(modules)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_core_imports_with_its_declared_dependencies_alone() -> None:
    done = import_alone([re.split(r"[^\w.-]", name)[0] for name in DECLARED], modules_of_the_core())
    assert done.returncode == 0, done.stderr


def test_an_undeclared_dependency_is_refused() -> None:
    done = import_alone([], ["sky_core", "yaml"])
    assert "yaml is not declared by the core" in done.stderr
