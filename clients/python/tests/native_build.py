"""Builds a copy of the package with its C module: `python3 native_build.py DIRECTORY`. To run the tests with the copy, set PITWALL_SOURCES=DIRECTORY."""
import os
import shutil
import subprocess
import sys
import sysconfig

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")
COMPILERS = ("cc", "gcc", "clang")


def compiler():
    """Returns the compiler, or None if the module cannot be built because the compiler or this interpreter's headers are missing."""
    headers = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(headers, "Python.h")) or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    return next((name for name in COMPILERS if shutil.which(name)), None)


def build(folder):
    """Builds the copy and returns the directory. Raises CalledProcessError with the compiler's output."""
    package = os.path.join(folder, "pitwall")
    shutil.copytree(os.path.join(SOURCES, "pitwall"), package, ignore=shutil.ignore_patterns("__pycache__", "_native*"))
    native = os.path.join(package, "native")
    sources = sorted(os.path.join(native, name) for name in os.listdir(native) if name.endswith(".c"))
    subprocess.run([compiler(), "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-shared", "-fPIC",
                    "-I" + sysconfig.get_paths()["include"], *sources, "-o",
                    os.path.join(package, "_native" + sysconfig.get_config_var("EXT_SUFFIX"))], check=True)
    return folder


if __name__ == "__main__":
    if compiler() is None:
        sys.exit("native_build: no C compiler or no headers for %s; install python3-dev and gcc" % sys.executable)
    build(sys.argv[1])
