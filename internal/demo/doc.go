// Package demo tells the platform's story on one machine with real parts: Story runs it once from application to
// payout and checks each figure; Town fills a platform with people and a simulated host, so that every page shows life.
package demo
