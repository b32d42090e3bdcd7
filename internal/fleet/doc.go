// Package fleet keeps the machines of providers: enrolment by token, hosts and their GPUs as they say they are, and
// when each host was there.
//
// A host that was seen is online until the sweep finds it silent for too long; its presence is one open interval, not a
// row per beat. GPUs are never deleted: one that vanishes is marked so, and keeps its history. What a host says of its
// hardware is a claim: absurd values and a UUID seen on two hosts keep a GPU from the market, and whether it is what it
// claims is for package benchmark to find out.
package fleet
