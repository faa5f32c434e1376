"""One module per kind of source."""
