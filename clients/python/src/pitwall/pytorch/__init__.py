"""Hooks of watch() and watch_collectives() into PyTorch. `import pitwall` does not import this package."""
