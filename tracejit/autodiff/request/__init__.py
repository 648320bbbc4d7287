"""A request for derivatives, and the rules that users register."""
