// Package db connects to PostgreSQL, runs transactions and holds the schema's migrations.
//
// It says nothing of the domain: each package keeps its SQL in its own store files.
package db
