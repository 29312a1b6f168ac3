"""PyTorch hooks of watch() and watch_collectives(). `import pitwall` does not import this package."""
