"""Sessions over HTTP: one request as an exchange, event streams with replay, and doors without sessions."""
