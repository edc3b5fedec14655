"""From findings and facts to a shell plan: which steps, in which order, as a script that can be read first."""
