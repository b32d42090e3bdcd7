//go:build deps

package deps

import (
	_ "github.com/BurntSushi/toml"
	_ "github.com/a-h/templ"
	_ "github.com/alexedwards/argon2id"
	_ "github.com/alexedwards/scs/v2"
	_ "github.com/bojanz/currency"
	_ "github.com/emersion/go-smtp"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/klauspost/compress/gzhttp"
	_ "github.com/moby/moby/client"
	_ "github.com/moby/moby/api/types/container"
	_ "github.com/mxschmitt/playwright-go"
	_ "github.com/nats-io/jwt/v2"
	_ "github.com/nats-io/nats-server/v2/server"
	_ "github.com/nats-io/nats.go"
	_ "github.com/nats-io/nkeys"
	_ "github.com/pressly/goose/v3"
	_ "github.com/riverqueue/river"
	_ "github.com/riverqueue/river/riverdriver/riverpgxv5"
	_ "github.com/riverqueue/river/rivermigrate"
	_ "github.com/riverqueue/river/rivertype"
	_ "github.com/wneessen/go-mail"
	_ "go.jetify.com/typeid"
	_ "golang.org/x/net/html"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/text/language"
	_ "pgregory.net/rapid"
)
