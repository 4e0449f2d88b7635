"""Who may do what: pure decisions, taken between a request and a tool."""
