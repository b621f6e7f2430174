"""How people reach the verbs: the command line."""
