"""What a function reads besides its arguments: the walk that finds it, and the guard over it."""
