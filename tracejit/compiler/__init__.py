"""From a recorded graph to a kernel: the pipeline, the bodies of a module, the kernel that runs."""
