// Package ui holds the pages and their components. It turns what handlers give it into HTML and decides nothing: no
// rule, no query, no clock. Pages carry no inline script and no style attribute, so that the content security policy
// can be strict.
package ui
