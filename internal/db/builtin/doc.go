// Package builtin runs a private PostgreSQL for a platform on one machine, under Linux.
//
// It uses server programs that are on the machine, runs them as a user without privileges when the process is root, and
// listens on a Unix socket in a directory that only that user can enter: no port, no password.
//
// What it promises:
//   - It never deletes data. It refuses a data directory of another version, and one that isn't PostgreSQL's.
//   - A data directory exists whole or not at all: initdb works in DataDir.new, which is renamed when it is done. What a
//     killed initdb left there is removed by the next Start.
//   - The server ends with its parent, however that ends, and then by a fast, clean shutdown. Start waits for a
//     predecessor that is still ending, and ends backends that outlived their killed server.
//   - Exited tells that the server died; a new Start on the same directory goes on with every committed row.
//
// What it isn't: it restarts nothing by itself (controlplane does), makes no backups and upgrades no data.
package builtin
