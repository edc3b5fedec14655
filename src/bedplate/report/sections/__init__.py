"""The parts of the page, in the order of the pipeline; each takes the material and gives markup."""
