"""The version of the package: one place for code and Hello."""
__version__ = "0.1.0"
