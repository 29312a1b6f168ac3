"""Version of the package, used by both the package metadata and the Hello message."""
__version__ = "0.1.0"
