"""Environment steps per second with observation and reward: our engine, its ceiling, and its peers, in one run."""
