"""PyTorch hooks for watch() and watch_collectives(). `import pitwall` does not import this package."""
