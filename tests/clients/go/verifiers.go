package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/resend/resend-go/v3"
)

// The suite deletes this domain, which fails its pending email.
const failingDomain = "go.failing.example"

// verifiers verifies delivered events with the method that customers use.
func verifiers(s *suite) {
	receiver := newReceiver()
	defer receiver.server.Close()
	table := &matrix{s: s}
	create := &resend.CreateWebhookRequest{Endpoint: receiver.url("/verified"), Events: eventTypes}
	created := data[*resend.CreateWebhookResponse](s, "Webhooks.Create", create)
	first := created.SigningSecret
	causeEvents(s)
	deliveries := receiver.until("/verified", hasTypes(eventTypes))
	s.check("Webhooks.Create", "both sets of headers are equal", func() {
		for _, received := range deliveries {
			for _, name := range []string{"id", "timestamp", "signature"} {
				equal(received.headers.Get("svix-"+name), received.headers.Get("webhook-"+name))
			}
			truth(timestamp.MatchString(received.event.CreatedAt), received.event)
		}
	})
	table.column(fmt.Sprintf("%d types", len(eventTypes)), func() {
		for _, received := range deliveries {
			accepts(s, received, first)
		}
	})

	latest := func(name string) delivery {
		seen := len(receiver.at("/verified"))
		email := "go-verify-" + name + "@suppressed.example.net"
		isIt := func(received delivery) bool { return received.event.Data["email"] == email }
		causeEvent(s, email)
		all := receiver.until("/verified", func(all []delivery) bool { return slices.ContainsFunc(all[seen:], isIt) })
		return all[seen:][slices.IndexFunc(all[seen:], isIt)]
	}
	second := rotate(s, created.Id, map[string]any{})
	both := latest("overlap")
	table.column("old secret in the overlap", func() { accepts(s, both, first) })
	table.column("new secret in the overlap", func() { accepts(s, both, second) })
	third := rotate(s, created.Id, map[string]any{"overlap_hours": 0})
	last := latest("dropped")
	table.column("new secret after it", func() { accepts(s, last, third) })
	table.column("no old secret after it", func() {
		refuses(s, last, second, "signature")
		refuses(s, last, first, "signature")
	})
	table.column("no altered body", func() {
		altered := last
		altered.body = strings.Replace(last.body, "go-verify", "no-verify", 1)
		truth(altered.body != last.body, altered)
		refuses(s, altered, third, "signature")
	})
	table.column("no wrong secret", func() {
		refuses(s, last, "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 24)), "signature")
	})
	table.column("no stale timestamp", func() {
		accepts(s, resigned(last, third, 0), third)
		for _, offset := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
			refuses(s, resigned(last, third, offset), third, "timestamp")
		}
	})
	table.print()
	data[*resend.DeleteWebhookResponse](s, "Webhooks.Remove", created.Id)
}

// causeEvents causes an event of each type.
func causeEvents(s *suite) {
	send := func(from, to, at string) string {
		email := &resend.SendEmailRequest{
			From: from, To: []string{to}, Subject: "Zoë’s “order” ✓ </script>", Text: "hello",
			Tags: []resend.Tag{{Name: "suite", Value: "go"}}, ScheduledAt: at,
		}
		return data[*resend.SendEmailResponse](s, "Emails.Send", email).Id
	}
	for _, name := range []string{"delivered", "bounced", "complained", "delayed"} {
		send("sender@example.com", name+"@resend.dev", "")
	}
	waiting := send("sender@example.com", "one@example.net", inHours(1))
	data[*resend.CancelScheduledEmailResponse](s, "Emails.Cancel", waiting)
	domains := data[resend.ListDomainsResponse](s, "Domains.ListWithOptions", ctx, &resend.ListOptions{Limit: ref(100)}).Data
	failing := slices.IndexFunc(domains, func(row resend.Domain) bool { return row.Name == failingDomain })
	send("sender@"+failingDomain, "one@example.net", inAMoment())
	equal(data[bool](s, "Domains.Remove", domains[failing].Id), true)
	causeAudienceEvents(s)
}

// rotate sends a request for which the SDK has no method, and returns the new secret.
func rotate(s *suite, webhook string, options map[string]any) string {
	request, err := s.client.NewRequest(ctx, http.MethodPost, "webhooks/"+webhook+"/rotate", options)
	truth(err == nil, err)
	var rotated resend.CreateWebhookResponse
	_, err = s.client.Perform(request, &rotated)
	truth(err == nil, err)
	return rotated.SigningSecret
}

// matrix is a table of the results: a column for each property of the verifier.
type matrix struct {
	s              *suite
	columns, cells []string
}

func (m *matrix) column(note string, body func()) {
	failed := m.s.counts.failed
	m.s.check("Webhooks.Verify", note, body)
	cell := "yes"
	if m.s.counts.failed != failed {
		cell = "NO"
	}
	m.columns, m.cells = append(m.columns, note), append(m.cells, cell)
}

func (m *matrix) print() {
	fmt.Printf("client %s: matrix | verifier | %s |\n", label, strings.Join(m.columns, " | "))
	fmt.Printf("client %s: matrix | resend Webhooks.Verify | %s |\n", label, strings.Join(m.cells, " | "))
}

func verify(s *suite, received delivery, secret string) error {
	s.counts.called["Webhooks.Verify"] = true
	return s.client.Webhooks.Verify(&resend.VerifyWebhookOptions{
		Payload: received.body,
		Headers: resend.WebhookHeaders{
			Id: received.headers.Get("svix-id"), Timestamp: received.headers.Get("svix-timestamp"), Signature: received.headers.Get("svix-signature"),
		},
		WebhookSecret: secret,
	})
}

func accepts(s *suite, received delivery, secret string) {
	err := verify(s, received, secret)
	truth(err == nil, err)
}

func refuses(s *suite, received delivery, secret, about string) {
	err := verify(s, received, secret)
	truth(err != nil, "accepted")
	contains(err.Error(), about)
}

// resigned returns the delivery with a timestamp offset from now and a matching signature.
func resigned(received delivery, secret string, offset time.Duration) delivery {
	at := strconv.FormatInt(time.Now().Add(offset).Unix(), 10)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	truth(err == nil, err)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(received.headers.Get("svix-id") + "." + at + "." + received.body))
	again := received
	again.headers = received.headers.Clone()
	again.headers.Set("svix-timestamp", at)
	again.headers.Set("svix-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return again
}
