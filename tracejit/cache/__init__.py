"""Generated kernels on disk: content keys (`key`) and verified files (`store`). Knows text, not graphs."""
