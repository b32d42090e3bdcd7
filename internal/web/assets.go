package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed assets/dist
var dist embed.FS

type asset struct {
	plain, gz  []byte
	ctype, tag string
}

// assets holds every static file, compressed once.
type assets map[string]asset

func loadAssets() (assets, error) {
	m := assets{}
	d, err := fs.Sub(dist, "assets/dist")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(d, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(d, p)
		if err != nil {
			return err
		}
		s := sha256.Sum256(b)
		a := asset{plain: b, ctype: contentType(p), tag: hex.EncodeToString(s[:5])}
		if path.Ext(p) != ".woff2" { // already compressed
			if a.gz, err = compress(b); err != nil {
				return err
			}
		}
		m[p] = a
		return nil
	})
	return m, err
}

func contentType(name string) string {
	if path.Ext(name) == ".woff2" { // not in every system's table
		return "font/woff2"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func compress(b []byte) ([]byte, error) {
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return z.Bytes(), nil
}

// url is an asset's address with its hash, so that it can be cached for ever.
func (m assets) url(name string) string { return "/static/" + name + "?v=" + m[name].tag }

func (m assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := m[strings.TrimPrefix(r.URL.Path, "/static/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.ctype)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", fmt.Sprintf("%q", a.tag))
	b := a.plain
	if a.gz != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		b = a.gz
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // the reader may have gone
}
