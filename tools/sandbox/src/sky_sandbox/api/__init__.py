"""The API server without I/O: requests and an instant in, responses and watches out.

`server.Server.handle` is the whole of it. It knows no socket, no clock and no chance: the same requests at the same
instants get the same bytes.
"""
