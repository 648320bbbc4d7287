"""Functions as modules of NumPy alone: the text of the checked call (`checked_call`), of the module
around it (`exported_module`), of its stub (`stubs`), and of packages (`kernel_package`)."""
