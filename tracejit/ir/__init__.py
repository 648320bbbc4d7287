"""The intermediate form: types, values, nodes, graphs, their printed form and their invariants."""
