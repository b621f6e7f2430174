"""The verbs: where the layers are joined. Each verb is a file of this folder."""
