"""Connection to the collector: the sender thread and the items that are not confirmed yet."""
