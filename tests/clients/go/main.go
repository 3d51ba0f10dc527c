// Tests the official Go SDK, unmodified, against a running server.
//
// The key comes from RESEND_API_KEY. The SDK reads the URL from RESEND_BASE_URL.
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
	s.part("contactProperties", contactProperties)
	s.part("topics", topics)
	s.part("segments", segments)
	s.part("contacts", contacts)
	s.part("suppressions", suppressions)
	s.part("webhooks", webhooks)
	s.part("verifiers", verifiers)
	s.part("logs", logs)
	methods, called := s.methods(), 0
	for _, method := range methods {
		if s.counts.called[method] {
			called++
		} else {
			s.fail(method, "coverage", "no check calls this method of the SDK")
		}
	}
	fmt.Printf("client go: called %d of %d methods\n", called, len(methods))
	fmt.Printf("client go: %d passed, %d failed\n", s.counts.passed, s.counts.failed)
	if s.counts.failed > 0 {
		os.Exit(1)
	}
}
