// Package guard is the only holder of the container engine's socket on a host. Whoever holds that socket is root on the
// host, so the agent doesn't: it asks the guard over a Unix socket, in words that can't express a bind mount, a host
// namespace, a device other than a designated GPU, a capability or somebody else's container.
//
// Compose is the heart: a pure function from what the agent asked and what the provider's policy allows to the whole
// settings of a container. Nothing that the platform sends can widen the policy: it is a file of the provider, read
// when the guard starts.
//
// Client is the agent's side of the socket.
package guard
