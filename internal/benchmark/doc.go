// Package benchmark asks hosts to measure their GPUs, checks that they did, and says what it means: a score, a health
// and whether a GPU may be in the market.
//
// One run is over all GPUs of a host at once. The host multiplies matrices seeded by the platform and commits to the
// products (Commit); only then the platform chooses which rows it wants to see; the host opens them and tells its
// figures (Result). A run that a rental interrupts or that isn't answered costs nothing: the last verdict stays.
//
// It doesn't decide what is listed: the market does, by the newest verdict and by quarantine.
package benchmark
