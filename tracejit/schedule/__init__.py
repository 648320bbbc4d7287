"""From the nodes of one function body to a Plan: what is a statement, what is inlined, what is in
place."""
