// Package market keeps the rates of providers, says which GPUs are on offer and why the others aren't, and promises
// prices to customers.
//
// What an offer is follows from facts that others own: hosts and GPUs (fleet), verdicts (benchmark), standing
// (provider) and claims (rental). They are read in one statement and judged by one pure function, [Reasons]: the
// provider's listings, the offers and the quotes can't disagree.
//
// What it isn't: it lets nothing (rental does, and PostgreSQL refuses a second claim), and it doesn't rank yet. The
// recommended order is by price, then by score; the public rank of price, reliability, tier and commitment comes later.
package market
