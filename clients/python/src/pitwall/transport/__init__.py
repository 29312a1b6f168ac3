"""Connection to the collector: the sender thread and the buffer of unconfirmed items."""
