// Tests the official Go SDK, unmodified, against a running server: the newest major version, and the one before it.
//
// For the older version, go-2/go.mod replaces the module, and the tag `older` leaves out the files about calls that it
// does not have. The key comes from RESEND_API_KEY. The SDK reads the URL from RESEND_BASE_URL.
package main

import (
	"fmt"
	"os"
)

func main() {
	s := newSuite(os.Getenv("RESEND_API_KEY"))
	s.part("emails", emails)
	s.part("scheduling", scheduling)
	s.part("refusals", refusals)
	s.part("batch", batch)
	s.part("domains", domains)
	s.part("apiKeys", apiKeys)
	versionParts(s)
	s.part("webhooks", webhooks)
	s.part("verifiers", verifiers)
	methods, called := s.methods(), 0
	for _, method := range methods {
		if s.counts.called[method] {
			called++
		} else {
			s.fail(method, "coverage", "no check calls this method of the SDK")
		}
	}
	fmt.Printf("client %s: called %d of %d methods\n", label, called, len(methods))
	fmt.Printf("client %s: %d passed, %d failed\n", label, s.counts.passed, s.counts.failed)
	if s.counts.failed > 0 {
		os.Exit(1)
	}
}
