from ._remote_arena import RemoteArena as RemoteArena, connect as connect
