// Package gpu is the catalogue of GPU models: what each is called, what a healthy one measures, and how measured
// figures become a score. It knows nothing of hosts, prices or how figures are measured.
package gpu
