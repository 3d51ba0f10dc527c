//go:build older

package main

import (
	"strings"

	"github.com/resend/resend-go/v3"
)

// services are the services of the SDK whose endpoints this server has.
var services = []string{"Emails", "Batch", "Domains", "ApiKeys", "Contacts", "Audiences", "Broadcasts", "Webhooks"}

// segmentObject is the type of a segment below /audiences, the path of this version.
const segmentObject = "audience"

// All types of events that the suite can cause.
var eventTypes = strings.Fields(`
	email.scheduled email.sent email.delivered email.delivery_delayed email.bounced email.complained email.failed
	contact.created contact.updated contact.deleted`)

// versionParts runs the parts about calls with other parameters than in the newest version.
func versionParts(s *suite) {
	s.part("audiences", func(s *suite) { segmentsNamed(s, "Audiences.") })
	s.part("broadcasts", broadcasts)
}

// broadcastAudience creates an audience with two contacts who receive a broadcast. Returns its id.
func broadcastAudience(s *suite) string {
	id := data[resend.CreateAudienceResponse](s, "Audiences.Create", &resend.CreateAudienceRequest{Name: "Go broadcasts"}).Id
	for _, email := range []string{"go-ada@broadcast.example.net", "go-bob@broadcast.example.net"} {
		contact := &resend.CreateContactRequest{AudienceId: id, Email: email}
		data[resend.CreateContactResponse](s, "Contacts.Create", contact)
	}
	return id
}

// members checks contacts, which this version has only below an audience.
func members(s *suite, audience string) {
	const email = "go-audience@customer.example.net"
	noPage := (*resend.ListOptions)(nil)
	contact := &resend.CreateContactRequest{AudienceId: audience, Email: email, FirstName: "Ada", LastName: "Lovelace"}
	for method, args := range map[string][]any{"Contacts.Create": {contact}, "Contacts.CreateWithContext": {ctx, contact}} {
		s.check(method, "into an audience; an email that exists returns the same id", func() {
			created := data[resend.CreateContactResponse](s, method, args...)
			equal(created.Object, "contact")
			equal(data[resend.CreateContactResponse](s, "Contacts.Create", contact), created)
			s.refused(404, "not_found", "Contacts.Create", &resend.CreateContactRequest{AudienceId: unknownID, Email: email})
		})
	}
	id := data[resend.CreateContactResponse](s, "Contacts.Create", contact).Id
	for method, args := range map[string][]any{
		"Contacts.List": {audience}, "Contacts.ListWithContext": {ctx, audience}, "Contacts.ListWithOptions": {ctx, audience, noPage},
	} {
		s.check(method, "the contacts of the audience", func() {
			page := data[resend.ListContactsResponse](s, method, args...)
			equal([]any{page.Object, page.HasMore, len(page.Data), page.Data[0].Id}, []any{"list", false, 1, id})
		})
	}
	s.check("Contacts.ListWithOptions", "limit and cursors", func() {
		other := *contact
		other.Email = "go-other@customer.example.net"
		otherID := data[resend.CreateContactResponse](s, "Contacts.Create", &other).Id
		list := func(options *resend.ListOptions) resend.ListContactsResponse {
			return data[resend.ListContactsResponse](s, "Contacts.ListWithOptions", ctx, audience, options)
		}
		newest := list(&resend.ListOptions{Limit: ref(1)})
		equal([]any{newest.HasMore, newest.Data[0].Id}, []any{true, otherID})
		equal(list(&resend.ListOptions{Limit: ref(1), After: &otherID}).Data[0].Id, id)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &id}).Data[0].Id, otherID)
		data[resend.RemoveContactResponse](s, "Contacts.RemoveWithContext", ctx, audience, otherID)
	})
	for method, args := range map[string][]any{"Contacts.Get": {audience, id}, "Contacts.GetWithContext": {ctx, audience, email}} {
		s.check(method, "by id, by email", func() {
			read := data[resend.Contact](s, method, args...)
			truth(timestamp.MatchString(read.CreatedAt), read)
			equal(read, resend.Contact{
				Id: id, Email: email, Object: "contact", FirstName: "Ada", LastName: "Lovelace", CreatedAt: read.CreatedAt,
			})
		})
	}
	byID, byEmail := &resend.UpdateContactRequest{Id: id}, &resend.UpdateContactRequest{Email: email}
	for method, update := range map[string]*resend.UpdateContactRequest{"Contacts.Update": byID, "Contacts.UpdateWithContext": byEmail} {
		s.check(method, "by id, by email; subscribed again", func() {
			update.AudienceId, update.FirstName = audience, method
			for _, unsubscribed := range []bool{true, false} {
				update.SetUnsubscribed(unsubscribed)
				if method == "Contacts.Update" {
					data[resend.UpdateContactResponse](s, method, update)
				} else {
					data[resend.UpdateContactResponse](s, method, ctx, update)
				}
				read := data[resend.Contact](s, "Contacts.Get", audience, id)
				equal([]any{read.FirstName, read.LastName, read.Unsubscribed}, []any{method, "Lovelace", unsubscribed})
			}
		})
	}
	s.check("Contacts.Remove", "removed from the audience; an unknown audience is 404", func() {
		s.refused(404, "not_found", "Contacts.Get", unknownID, id)
		removed := data[resend.RemoveContactResponse](s, "Contacts.Remove", audience, email)
		equal([]any{removed.Object, removed.Deleted}, []any{"contact", true})
		s.refused(404, "not_found", "Contacts.Get", audience, id)
	})
}

// attachments checks that attachments are accepted. This version cannot read them.
func attachments(s *suite) {
	s.check("Emails.Send", "attachments, bytes sent as an array of integers", func() {
		send(s, with("attachments", func(e *resend.SendEmailRequest) {
			e.Attachments = []*resend.Attachment{
				{Filename: "bytes.bin", Content: []byte{0, 1, 2, 253, 254, 255}, ContentType: "application/octet-stream"},
				{Filename: "note.txt", Content: []byte("note")},
			}
		}))
	})
}

func withoutMessageID(email resend.Email) resend.Email { return email }

func neverUsed(resend.ApiKey) bool { return true }

func newDomain(name string) *resend.CreateDomainRequest {
	return &resend.CreateDomainRequest{Name: name, Region: "us-east-1", CustomReturnPath: "bounce"}
}

func updatingDomains(s *suite, id string) {
	on := &resend.UpdateDomainRequest{OpenTracking: true, ClickTracking: true}
	for method, args := range map[string][]any{"Domains.Update": {id, on}, "Domains.UpdateWithContext": {ctx, id, on}} {
		s.check(method, "tracking on", func() { equal(data[resend.Domain](s, method, args...).Id, id) })
	}
}

// causeEvent causes an event about an address.
func causeEvent(s *suite, email string) {
	audience := data[resend.CreateAudienceResponse](s, "Audiences.Create", &resend.CreateAudienceRequest{Name: "Go verify"}).Id
	contact := &resend.CreateContactRequest{AudienceId: audience, Email: email}
	id := data[resend.CreateContactResponse](s, "Contacts.Create", contact).Id
	data[resend.UpdateContactResponse](s, "Contacts.Update", &resend.UpdateContactRequest{AudienceId: audience, Id: id, FirstName: "Zoë"})
	data[resend.RemoveContactResponse](s, "Contacts.Remove", audience, id)
	data[resend.RemoveAudienceResponse](s, "Audiences.Remove", audience)
}

// causeAudienceEvents causes the events about contacts.
func causeAudienceEvents(s *suite) { causeEvent(s, "go-verify@customer.example.net") }
