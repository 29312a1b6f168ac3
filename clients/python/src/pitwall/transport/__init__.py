"""Connection to the collector: the sender's thread and the items that are not confirmed yet."""
