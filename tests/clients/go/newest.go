//go:build !older

package main

import (
	"strings"

	"github.com/resend/resend-go/v3"
)

// services are the services of the SDK whose endpoints this server has.
var services = []string{
	"Emails", "Batch", "Domains", "DomainClaims", "ApiKeys", "Contacts", "ContactProperties", "Topics", "Segments", "Audiences",
	"Suppressions", "Broadcasts", "Templates", "Webhooks", "Logs",
}

const segmentObject = "segment"

// All types of events that the suite can cause.
var eventTypes = strings.Fields(`
	email.scheduled email.sent email.delivered email.delivery_delayed email.bounced email.complained email.failed
	contact.created contact.updated contact.deleted contact.unsubscribed contact.resubscribed contact.topic_opt_in
	contact.topic_opt_out suppression.added suppression.removed`)

// versionParts runs the parts about calls that only this version has.
func versionParts(s *suite) {
	s.part("receiving", receiving)
	s.part("domainFields", domainFields)
	s.part("contactProperties", contactProperties)
	s.part("topics", topics)
	s.part("segments", segments)
	s.part("contacts", contacts)
	s.part("suppressions", suppressions)
	s.part("broadcasts", broadcasts)
	s.part("newestBroadcasts", newestBroadcasts)
	s.part("templates", templates)
	s.part("logs", logs)
}

func members(s *suite, segment string) { contactSegments(s, segment) }

func withoutMessageID(email resend.Email) resend.Email {
	email.MessageId = ""
	return email
}

func neverUsed(key resend.ApiKey) bool { return key.LastUsedAt == nil }

func newDomain(name string) *resend.CreateDomainRequest {
	return &resend.CreateDomainRequest{
		Name: name, Region: "us-east-1", CustomReturnPath: "bounce", OpenTracking: ref(false), ClickTracking: ref(false),
		Capabilities: &resend.DomainCapabilities{Sending: "enabled", Receiving: "disabled"},
	}
}

func updatingDomains(s *suite, id string) {
	on, off := &resend.UpdateDomainRequest{OpenTracking: true, TrackingSubdomain: "links"}, &resend.UpdateDomainRequest{}
	off.SetOpenTracking(false)
	off.SetClickTracking(false)
	s.check("Domains.Update", "open tracking on", func() {
		equal(data[resend.Domain](s, "Domains.Update", id, on).Id, id)
		domain := data[resend.Domain](s, "Domains.Get", id)
		equal([]any{domain.OpenTracking, domain.ClickTracking, domain.TrackingSubdomain}, []any{true, false, "links"})
	})
	s.check("Domains.UpdateWithContext", "tracking off", func() {
		equal(data[resend.Domain](s, "Domains.UpdateWithContext", ctx, id, off).Id, id)
		equal(data[resend.Domain](s, "Domains.Get", id).OpenTracking, false)
	})
}

// domainFields checks fields that the older version does not have.
func domainFields(s *suite) {
	created := data[resend.CreateDomainResponse](s, "Domains.Create", newDomain("go-fields.example.org"))
	s.check("Domains.Create", "with its capabilities", func() {
		equal(*created.Capabilities, resend.DomainCapabilities{Sending: "enabled", Receiving: "disabled"})
	})
	s.mustFail(422, "validation_error", "no inbound mail", "Domains.Create",
		&resend.CreateDomainRequest{Name: "in.example.org", Capabilities: &resend.DomainCapabilities{Sending: "enabled", Receiving: "enabled"}})
	claim := &resend.CreateDomainClaimRequest{Name: "claim.example.org"}
	for method, args := range map[string][]any{
		"Create": {claim}, "CreateWithContext": {ctx, claim}, "Get": {created.Id}, "GetWithContext": {ctx, created.Id}, "Verify": {created.Id}, "VerifyWithContext": {ctx, created.Id},
	} {
		s.mustFail(404, "not_found", "no domain claims", "DomainClaims."+method, args...)
	}
	equal(data[bool](s, "Domains.Remove", created.Id), true)
}

// causeEvent causes an event about an address.
func causeEvent(s *suite, email string) {
	data[resend.AddSuppressionResponse](s, "Suppressions.Add", &resend.AddSuppressionRequest{Email: email})
	data[resend.RemoveSuppressionResponse](s, "Suppressions.Remove", email)
}

// causeAudienceEvents causes the events about contacts and suppressions.
func causeAudienceEvents(s *suite) {
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
