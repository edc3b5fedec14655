"""Pure, tolerant parsers: text in, what is certain out; what is not there is None or empty, never an error."""
