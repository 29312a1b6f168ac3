"""Callbacks for training frameworks, each in a module that imports its framework: transformers, lightning, and xgboost.

Callbacks never raise into training; see _guard.swallow. Without init(), every callback is a no-op.
"""
