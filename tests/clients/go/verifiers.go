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

// The server's own domain, so that its deletion fails what waits.
const failingDomain = "go.failing.example"

// Every type that something can be done for here.
var eventTypes = strings.Fields(`
	email.scheduled email.sent email.delivered email.delivery_delayed email.bounced email.complained email.failed
	contact.created contact.updated contact.deleted contact.unsubscribed contact.resubscribed contact.topic_opt_in
	contact.topic_opt_out suppression.added suppression.removed`)

// verifiers has real events delivered to a real receiver, and verified as customers do.
func verifiers(s *suite) {
	receiver := newReceiver()
	defer receiver.server.Close()
	table := &matrix{s: s}
	create := &resend.CreateWebhookRequest{Endpoint: receiver.url("/verified"), Events: eventTypes}
	created := data[*resend.CreateWebhookResponse](s, "Webhooks.Create", create)
	first := created.SigningSecret
	provoke(s)
	deliveries := receiver.until("/verified", hasTypes(eventTypes))
	s.check("Webhooks.Create", "both sets of headers say the same", func() {
		for _, taken := range deliveries {
			for _, name := range []string{"id", "timestamp", "signature"} {
				equal(taken.headers.Get("svix-"+name), taken.headers.Get("webhook-"+name))
			}
			truth(timestamp.MatchString(taken.event.CreatedAt), taken.event)
		}
	})
	table.column(fmt.Sprintf("%d types", len(eventTypes)), func() {
		for _, taken := range deliveries {
			accepts(s, taken, first)
		}
	})

	latest := func(name string) delivery {
		seen := len(receiver.at("/verified"))
		email := "go-verify-" + name + "@suppressed.example.net"
		isIt := func(taken delivery) bool { return taken.event.Data["email"] == email }
		data[resend.AddSuppressionResponse](s, "Suppressions.Add", &resend.AddSuppressionRequest{Email: email})
		all := receiver.until("/verified", func(all []delivery) bool { return slices.ContainsFunc(all[seen:], isIt) })
		data[resend.RemoveSuppressionResponse](s, "Suppressions.Remove", email)
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
		for _, away := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
			refuses(s, resigned(last, third, away), third, "timestamp")
		}
	})
	table.print()
	data[*resend.DeleteWebhookResponse](s, "Webhooks.Remove", created.Id)
}

// provoke does something for every type.
func provoke(s *suite) {
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

	create := &resend.CreateTopicRequest{Name: "Go webhooks", DefaultSubscription: resend.DefaultSubscriptionOptIn}
	topic := data[*resend.CreateTopicResponse](s, "Topics.Create", create).Id
	const email = "go-verify@customer.example.net"
	contact := createContact(s, &resend.CreateContactRequest{Email: email, FirstName: "Zoë"})
	for _, choice := range []string{"opt_out", "opt_in"} {
		topics := []resend.TopicSubscriptionUpdate{{Id: topic, Subscription: choice}}
		data[resend.UpdateContactTopicsResponse](s, "Contacts.Topics.Update", &resend.UpdateContactTopicsRequest{Id: contact, Topics: topics})
	}
	for _, unsubscribed := range []bool{true, false} {
		update := &resend.UpdateContactRequest{Id: contact}
		update.SetUnsubscribed(unsubscribed)
		data[resend.UpdateContactResponse](s, "Contacts.Update", update)
	}
	removeContact(s, contact)
	data[*resend.RemoveTopicResponse](s, "Topics.Remove", topic)
	data[resend.AddSuppressionResponse](s, "Suppressions.Add", &resend.AddSuppressionRequest{Email: email})
	data[resend.RemoveSuppressionResponse](s, "Suppressions.Remove", email)
}

// rotate makes the call that the SDK has no method for, and answers the new secret.
func rotate(s *suite, webhook string, options map[string]any) string {
	request, err := s.client.NewRequest(ctx, http.MethodPost, "webhooks/"+webhook+"/rotate", options)
	truth(err == nil, err)
	var rotated resend.CreateWebhookResponse
	_, err = s.client.Perform(request, &rotated)
	truth(err == nil, err)
	return rotated.SigningSecret
}

// matrix prints what the verifier accepts and refuses as it should.
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
	fmt.Printf("client go: matrix | verifier | %s |\n", strings.Join(m.columns, " | "))
	fmt.Printf("client go: matrix | resend Webhooks.Verify | %s |\n", strings.Join(m.cells, " | "))
}

func verify(s *suite, taken delivery, secret string) error {
	s.counts.called["Webhooks.Verify"] = true
	return s.client.Webhooks.Verify(&resend.VerifyWebhookOptions{
		Payload: taken.body,
		Headers: resend.WebhookHeaders{
			Id: taken.headers.Get("svix-id"), Timestamp: taken.headers.Get("svix-timestamp"), Signature: taken.headers.Get("svix-signature"),
		},
		WebhookSecret: secret,
	})
}

func accepts(s *suite, taken delivery, secret string) {
	err := verify(s, taken, secret)
	truth(err == nil, err)
}

func refuses(s *suite, taken delivery, secret, about string) {
	err := verify(s, taken, secret)
	truth(err != nil, "accepted")
	contains(err.Error(), about)
}

// resigned is the delivery as if it had been sent away from now.
func resigned(taken delivery, secret string, away time.Duration) delivery {
	at := strconv.FormatInt(time.Now().Add(away).Unix(), 10)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	truth(err == nil, err)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(taken.headers.Get("svix-id") + "." + at + "." + taken.body))
	again := taken
	again.headers = taken.headers.Clone()
	again.headers.Set("svix-timestamp", at)
	again.headers.Set("svix-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return again
}
