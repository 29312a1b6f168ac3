"""Statistics of tensors and of logged samples."""
