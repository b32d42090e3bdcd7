package web

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/rental"
	"github.com/gpunex/gpunex/internal/web/ui"
)

// models is the catalogue as pages show it.
func models() []ui.Model {
	var list []ui.Model
	for _, m := range gpu.Models() {
		list = append(list, ui.Model{Key: m.Key, Name: strings.TrimPrefix(m.Name, "NVIDIA "), VRAMGiB: m.VRAMGiB})
	}
	return list
}

// modelName is a model's name for people; a model that isn't in the catalogue is named as it is.
func modelName(key string) string {
	if m, ok := gpu.Find(key); ok {
		return strings.TrimPrefix(m.Name, "NVIDIA ")
	}
	return strings.TrimPrefix(key, "NVIDIA ")
}

func countries(q *req) []ui.Choice {
	var list []ui.Choice
	for _, c := range q.v.L.Countries {
		list = append(list, ui.Choice{Value: c.Code, Label: c.Name})
	}
	return list
}

func (s *server) marketplace(q *req) error {
	f := q.URL.Query()
	m := ui.Market{
		Model: f.Get("model"), VRAM: f.Get("vram"), Max: f.Get("max"), Score: f.Get("score"),
		Country: f.Get("country"), Tier: f.Get("tier"), Count: f.Get("count"), Order: f.Get("order"), Models: models(),
	}
	search, err := readSearch(m)
	if err == nil {
		m.Offers, err = s.Market.Search(q.Context(), q.now, search)
	}
	if err != nil && !q.refused(err) {
		return err
	}
	for _, c := range countries(q) { // those that have offers, and the chosen one
		if c.Value == m.Country || slices.ContainsFunc(m.Offers, func(o market.Offer) bool { return o.Country == c.Value }) {
			m.Countries = append(m.Countries, c)
		}
	}
	if q.partial() {
		return q.fragment(ui.OffersTable(q.v, m))
	}
	return q.page(q.v.M.Market.Title, ui.MarketPage(q.v, m))
}

func readSearch(m ui.Market) (market.Search, error) {
	form := fault.Form{}
	s := market.Search{
		Model: m.Model, Country: m.Country, Tier: m.Tier, Order: m.Order,
		MinVRAMGiB: number(form, "vram", m.VRAM), MinScore: number(form, "score", m.Score), Count: number(form, "count", m.Count),
	}
	if m.Max != "" {
		s.MaxPrice = amount(form, "max", m.Max)
	}
	return s, form.Err()
}

// number reads a whole number that may be missing.
func number(form fault.Form, field, typed string) int {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return 0
	}
	n, err := strconv.Atoi(typed)
	if err != nil || n < 0 || n > 1_000_000 {
		form.Add(field, "number_invalid", "Enter a whole number.")
		return 0
	}
	return n
}

// amount reads an amount of money, with a sentence of its own for each way in which it can be wrong.
func amount(form fault.Form, field, typed string) money.Micro {
	m, err := money.Parse(typed)
	switch {
	case errors.Is(err, money.ErrEmpty):
		form.Add(field, "amount_required", "Enter an amount.")
	case errors.Is(err, money.ErrDecimals):
		form.Add(field, "amount_decimals", "An amount has at most six decimals.")
	case err != nil:
		form.Add(field, "amount_invalid", "Enter a plain amount, as in 2.19 or 2,19, without currency or thousands separators.")
	}
	return m
}

func (s *server) rentPage(q *req) error {
	return s.offer(q, "1")
}

func (s *server) offer(q *req, gpus string) error {
	o, err := s.Market.Offer(q.Context(), q.now, q.PathValue("host"), q.PathValue("model"))
	if err != nil {
		return err
	}
	return q.page(q.v.M.Market.RentX.F("x", modelName(o.Model)), ui.RentPage(q.v, ui.Rent{Offer: o, GPUs: gpus}))
}

func (s *server) quote(q *req) error {
	form := fault.Form{}
	n := number(form, "gpus", q.text("gpus"))
	err := form.Err()
	var quote market.Quote
	if err == nil {
		quote, err = s.Market.Quote(q.Context(), q.now, q.who, q.PathValue("host"), q.PathValue("model"), n)
	}
	if q.refused(err) {
		return s.offer(q, q.text("gpus"))
	}
	if err != nil {
		return err
	}
	return q.redirect("/quotes/" + quote.ID)
}

func (s *server) quotePage(q *req) error {
	return s.showQuote(q, ui.Quote{})
}

func (s *server) showQuote(q *req, typed ui.Quote) error {
	quote, err := s.Market.QuoteByID(q.Context(), q.who, q.PathValue("id"))
	if err != nil {
		return err
	}
	typed.Quote, typed.ModelName = quote, modelName(quote.Model)
	typed.Key = quote.ID // a quote makes one rental: its identifier is the idempotency key
	host, err := s.Fleet.Host(q.Context(), quote.HostID)
	if err != nil {
		return err
	}
	typed.Simulated = host.Simulated
	return q.page(q.v.M.Rent.QuoteTitle, ui.QuotePage(q.v, typed))
}

func (s *server) rent(q *req) error {
	typed := ui.Quote{Image: q.text("image"), Command: q.PostFormValue("command"), Env: q.PostFormValue("env"), MaxHours: q.text("max_hours"), MaxSpend: q.text("max_spend")}
	o, err := readOrder(typed)
	var r rental.Rental
	if err == nil {
		o.QuoteID, o.IdemKey = q.PathValue("id"), q.text("key")
		r, err = s.Rentals.Start(q.Context(), q.now, q.who, o)
	}
	if q.refused(err) {
		return s.showQuote(q, typed)
	}
	if err != nil {
		return err
	}
	return q.redirect("/console/instances/" + r.ID)
}

func readOrder(t ui.Quote) (rental.Order, error) {
	form := fault.Form{}
	o := rental.Order{Image: t.Image}
	var err error
	if o.Command, err = words(t.Command); err != nil {
		form.Add("command", "command_quotes", "A quotation mark has no partner.")
	}
	if o.Env, err = environment(t.Env); err != nil {
		form.Add("env", "env_invalid", "Write one NAME=value per line.")
	}
	if t.MaxSpend != "" {
		o.MaxSpend = amount(form, "max_spend", t.MaxSpend)
	}
	if t.MaxHours != "" {
		h, err := strconv.ParseFloat(strings.Replace(t.MaxHours, ",", ".", 1), 64)
		if err != nil || !(h > 0 && h <= 24*366) {
			form.Add("max_hours", "max_hours_invalid", "Enter a number of hours, as in 0.5 or 24.")
		} else {
			o.MaxDuration = time.Duration(h * float64(time.Hour)).Round(time.Millisecond)
		}
	}
	return o, form.Err()
}
