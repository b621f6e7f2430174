"""How people reach the commands: the command line."""
