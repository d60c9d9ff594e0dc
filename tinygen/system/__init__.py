"""What tinygen does with the machine that it runs on: locks, folders for work, the cache, programs that it starts."""
