"""The module in C is optional: without a compiler the package is pure Python and does the same, slower."""
from setuptools import Extension, setup

setup(ext_modules=[Extension("pitwall._native", optional=True, extra_compile_args=["-O2"],
                             sources=["src/pitwall/native/%s.c" % name for name in ("module", "items", "core", "phases", "encode", "backward",
                                                                   "hooks", "gradients")],
                             depends=["src/pitwall/native/items.inc", "src/pitwall/native/core.inc", "src/pitwall/native/backward.inc"])])
