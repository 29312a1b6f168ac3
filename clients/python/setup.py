"""Build script for the optional C module. Without a compiler, the package falls back to pure Python, which is equivalent but slower."""
from setuptools import Extension, setup

NATIVE = "src/pitwall/native/"
SOURCES = ("module", "items", "core", "phases", "encode", "backward", "hooks", "gradients")
SHARED = ("items", "core", "backward")

setup(ext_modules=[Extension("pitwall._native", optional=True, extra_compile_args=["-O2"],
                             sources=[NATIVE + name + ".c" for name in SOURCES],
                             depends=[NATIVE + name + ".inc" for name in SHARED])])
