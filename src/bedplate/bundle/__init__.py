"""Policy bundles: the contract, and folders that are written whole and read with every check."""
