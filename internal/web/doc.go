// Package web serves the pages: it reads a request, calls the same services as every other edge, and renders what they
// answer. It holds no business rule and no SQL.
//
// Every page lives under its language (/en/, /pt/, /fr/, /de/). Handlers return errors; fail turns them into what a
// person sees. Pages work without JavaScript; with it, parts are replaced by htmx and live figures arrive as
// server-sent events.
package web
