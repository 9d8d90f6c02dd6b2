"""Build: generate the code from ops/*.yaml, then compile the engine with mypyc where there is a C compiler.

WHERRY_PURE=1 leaves the engine interpreted. A machine without a compiler, or one on which compiling fails, gets the
interpreted engine too, with a warning that says so; WHERRY_COMPILED=1 makes that an error.
"""

import os
import shutil
import sys
import sysconfig
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "src"))

from wherry_codegen import build  # noqa: E402

REQUIRED = os.environ.get("WHERRY_COMPILED") == "1"


def generate() -> None:
    """Write the generated modules; a broken entry stops the build."""
    result = build.build(ROOT)
    if result.problems:
        sys.exit("\n".join(str(p) for p in result.problems))
    _, missing = build.generate(ROOT, result)
    if missing:
        sys.stderr.write(f"wherry: {missing}\n")


def interpreted(reason: str) -> None:
    """Say that the engine will run interpreted, and why; with WHERRY_COMPILED=1 stop instead."""
    message = f"wherry: the engine is not compiled and will be about three times slower: {reason}"
    if REQUIRED:
        sys.exit(message)
    sys.stderr.write(f"\n{'*' * 80}\n{message}\n{'*' * 80}\n\n")


def engine_modules() -> list[str]:
    """The files to compile, from [tool.wherry] in pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["wherry"]
    package = ROOT / "src" / "wherry"
    left_out = {package / name for name in settings["interpreted"]}
    chosen: list[str] = []
    for pattern in settings["compile"]:
        found = sorted(p for p in package.glob(pattern) if p not in left_out and p.name != "__init__.py")
        if not found:
            sys.exit(f"pyproject.toml: [tool.wherry] compile names {pattern}, which matches no module in src/wherry")
        chosen += [str(p.relative_to(ROOT)) for p in found]
    return chosen


def extensions() -> list[Extension]:
    """What mypyc makes of the engine; empty where it stays interpreted."""
    if os.environ.get("WHERRY_PURE") == "1":
        return []
    if not {"build", "build_ext", "bdist_wheel", "install"} & set(sys.argv):
        # Only metadata is wanted, which must not take as long as compiling.
        return []
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if os.name != "nt" and shutil.which(compiler) is None:
        interpreted(f"there is no C compiler ({compiler})")
        return []
    try:
        from mypyc.build import mypycify

        options = ["--explicit-package-bases", "--follow-imports=silent", "--no-error-summary"]
        made = mypycify(options + engine_modules(), opt_level="3", debug_level="0", group_name="wherry")
    except (ImportError, SystemExit) as error:
        interpreted(f"mypyc failed ({error})")
        return []
    for extension in made:
        # One list is shared by all of them.
        if "-include" not in extension.extra_compile_args:
            # mypyc asks for -Werror, and another compiler's new warning is no reason to run interpreted.
            extension.extra_compile_args += ["-include", str(ROOT / "trashcan.h"), "-Wno-error"]
    return made


class BuildEngine(build_ext):
    """All of the engine compiles or none of it: a half-compiled unit cannot be imported."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:  # Compilers fail in many ways; the interpreted engine is the answer to each.
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []
            interpreted(f"the C compiler failed ({error})")


generate()
setup(ext_modules=extensions(), cmdclass={"build_ext": BuildEngine})
