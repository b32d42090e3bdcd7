// Package bus is the connection between the platform and its hosts: an embedded NATS server, or a cluster elsewhere.
//
// Hosts prove themselves with a key made on the host and a credential signed here, which names the host; what a named
// host may do stands in the account, once for all of them: publish on a.<host>.>, listen on c.<host>.> and
// _INBOX.<host>.>, nothing else. No database is asked when a host connects.
//
// The bus keeps nothing: messages may be lost, and whoever sends them repeats what matters.
package bus
