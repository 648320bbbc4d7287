"""Generated kernels on disk: content keys (`key`), verified files (`store`). Text, not graphs."""
