// Package proof lets a host prove that it multiplied large seeded matrices, and the platform check it exactly in a small
// part of the time. Both sides use it; it knows nothing of messages, GPUs or time limits.
//
// In round t the prover fills A and B (n × n, int8) from a stream of the round's seed and computes C = A·B, exact in
// int32. Each row of C becomes a 64-bit fingerprint that isn't linear in C, so it can't be had from A·(B·s) without C;
// a Merkle tree over the fingerprints gives the round's root, and the root seeds the next round, so rounds can't run
// side by side. After all roots are sent the verifier picks one round and some rows; it checks each opened row against
// the root, and against A·B by Freivalds' method in Z/2^64: a wrong row passes one repetition with probability 2^-32.
//
// It doesn't prove which device computed C: time limits, and all GPUs of a host at once, push towards that.
package proof
