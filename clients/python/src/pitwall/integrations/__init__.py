"""Callbacks for training frameworks, each in a module that imports its framework: transformers, lightning, xgboost.

Nothing here raises into training: see _guard.swallow. Without init() every callback does nothing.
"""
