// Package bench answers the platform's benchmark orders: a proof that each GPU computed seeded products, and figures.
// The proof is computed on the CPU for now; what is measured, the Meter tells.
package bench
