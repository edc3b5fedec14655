"""Physics engines: many worlds of one model, stepped together."""
