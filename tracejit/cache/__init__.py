"""Generated kernels on disk. Text, not graphs: content keys and seals (`key`), the folder that they
lie in (`location`, `folder`, `secret`, `eviction`), modules made of text (`modules`), kernels of
the cache (`store`) and kernels that travel (`standalone`)."""
