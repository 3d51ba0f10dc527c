//go:build !older

package main

import "github.com/resend/resend-go/v3"

func contacts(s *suite) {
	property := func(key, kind string) string {
		create := &resend.CreateContactPropertyRequest{Key: key, Type: kind}
		return data[resend.CreateContactPropertyResponse](s, "ContactProperties.Create", create).Id
	}
	properties := []string{property("go_city", "string"), property("go_age", "number")}
	segment := data[resend.CreateSegmentResponse](s, "Segments.Create", &resend.CreateSegmentRequest{Name: "Go contacts"}).Id

	creatingContacts(s, segment)
	readingContacts(s)
	updatingContacts(s)
	removingContacts(s)
	contactsInAudience(s, segment)
	contactImports(s)

	data[resend.RemoveSegmentResponse](s, "Segments.Remove", segment)
	for _, id := range properties {
		data[resend.RemoveContactPropertyResponse](s, "ContactProperties.Remove", id)
	}
}

func contactAddress(name string) string { return "go-" + name + "@customer.example.net" }

func createContact(s *suite, contact *resend.CreateContactRequest) string {
	return data[resend.CreateContactResponse](s, "Contacts.Create", contact).Id
}

func readContact(s *suite, id string) resend.Contact {
	return data[resend.Contact](s, "Contacts.Get", &resend.GetContactOptions{Id: id})
}

func removeContact(s *suite, id string) {
	data[resend.RemoveContactResponse](s, "Contacts.Remove", &resend.RemoveContactOptions{Id: id})
}

func creatingContacts(s *suite, segment string) {
	email := contactAddress("created")
	contact := &resend.CreateContactRequest{
		Email: email, FirstName: "Ada", LastName: "Lovelace", Unsubscribed: true,
		Properties: map[string]any{"go_city": "London", "go_age": 36},
		Segments:   []resend.ContactSegmentRef{{Id: segment}},
	}
	for method, args := range map[string][]any{"Contacts.Create": {contact}, "Contacts.CreateWithContext": {ctx, contact}} {
		s.check(method, "every field", func() {
			created := data[resend.CreateContactResponse](s, method, args...)
			equal(created.Object, "contact")
			read := readContact(s, created.Id)
			equal(read, resend.Contact{
				Id: created.Id, Email: email, Object: "contact", FirstName: "Ada", LastName: "Lovelace", CreatedAt: read.CreatedAt,
				Unsubscribed: true, Properties: map[string]any{
					"go_city": map[string]any{"type": "string", "value": "London"},
					"go_age":  map[string]any{"type": "number", "value": 36.0},
				},
			})
			truth(timestamp.MatchString(read.CreatedAt), read)
			removeContact(s, created.Id)
		})
	}
	s.check("Contacts.Create", "an email that exists updates that contact and returns its id", func() {
		first := createContact(s, &resend.CreateContactRequest{Email: email, FirstName: "Ada"})
		equal(createContact(s, &resend.CreateContactRequest{Email: email, LastName: "Lovelace"}), first)
		read := readContact(s, first)
		equal([]string{read.FirstName, read.LastName}, []string{"Ada", "Lovelace"})
		removeContact(s, first)
	})
	s.check("Contacts.Create", "a bad email and a bad property are 422, a foreign segment 404", func() {
		s.refused(422, "validation_error", "Contacts.Create", &resend.CreateContactRequest{Email: "not an address"})
		s.refused(422, "validation_error", "Contacts.Create", &resend.CreateContactRequest{Email: email, Properties: map[string]any{"go_age": "old"}})
		s.refused(404, "not_found", "Contacts.Create",
			&resend.CreateContactRequest{Email: email, Segments: []resend.ContactSegmentRef{{Id: unknownID}}})
	})
}

func readingContacts(s *suite) {
	var ids []string
	for _, name := range []string{"first", "second", "third"} {
		ids = append(ids, createContact(s, &resend.CreateContactRequest{Email: contactAddress(name)}))
	}
	byID, byEmail := &resend.GetContactOptions{Id: ids[0]}, &resend.GetContactOptions{Id: contactAddress("first")}
	for method, args := range map[string][]any{"Contacts.Get": {byID}, "Contacts.GetWithContext": {ctx, byEmail}} {
		s.check(method, "by id, by email", func() {
			contact := data[resend.Contact](s, method, args...)
			equal(contact, resend.Contact{
				Id: ids[0], Email: contactAddress("first"), Object: "contact", CreatedAt: contact.CreatedAt, Properties: map[string]any{},
			})
		})
	}
	s.check("Contacts.Get", "an unknown id or email is 404", func() {
		equal(s.refused(404, "not_found", "Contacts.Get", &resend.GetContactOptions{Id: unknownID}), "Contact not found")
		equal(s.refused(404, "not_found", "Contacts.Get", &resend.GetContactOptions{Id: contactAddress("nobody")}), "Contact not found")
	})
	all := (*resend.ListContactsOptions)(nil)
	for method, args := range map[string][]any{"Contacts.List": {all}, "Contacts.ListWithContext": {ctx, all}} {
		s.check(method, "newest first, the basic shape", func() {
			page := data[resend.ListContactsResponse](s, method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Id}, []string{"list", ids[2], ids[1]})
			truth(page.Data[0].Properties == nil, page.Data[0])
		})
	}
	s.check("Contacts.List", "limit and cursors", func() {
		list := func(options *resend.ListContactsOptions) resend.ListContactsResponse {
			return data[resend.ListContactsResponse](s, "Contacts.List", options)
		}
		newest := list(&resend.ListContactsOptions{Limit: ref(1)})
		equal([]any{newest.HasMore, newest.Data[0].Id}, []any{true, ids[2]})
		equal(list(&resend.ListContactsOptions{Limit: ref(1), After: &ids[1]}).Data[0].Id, ids[0])
		equal(list(&resend.ListContactsOptions{Limit: ref(1), Before: &ids[1]}).Data[0].Id, ids[2])
		s.refused(422, "validation_error", "Contacts.List", &resend.ListContactsOptions{After: ref(unknownID)})
	})
	for _, id := range ids {
		removeContact(s, id)
	}
}

func updatingContacts(s *suite) {
	email := contactAddress("changing")
	id := createContact(s, &resend.CreateContactRequest{
		Email: email, FirstName: "Ada", LastName: "Lovelace", Properties: map[string]any{"go_city": "London", "go_age": 36},
	})
	s.check("Contacts.Update", "by id; other fields stay unchanged; nil removes a property", func() {
		update := &resend.UpdateContactRequest{Id: id, FirstName: "Grace", Properties: map[string]any{"go_city": nil, "go_age": 37.5}}
		data[resend.UpdateContactResponse](s, "Contacts.Update", update)
		read := readContact(s, id)
		equal([]any{read.FirstName, read.LastName, read.Unsubscribed}, []any{"Grace", "Lovelace", false})
		equal(read.Properties, map[string]any{"go_age": map[string]any{"type": "number", "value": 37.5}})
	})
	s.check("Contacts.UpdateWithContext", "by email; unsubscribed, then subscribed again", func() {
		for _, unsubscribed := range []bool{true, false} {
			update := &resend.UpdateContactRequest{Email: email}
			update.SetUnsubscribed(unsubscribed)
			data[resend.UpdateContactResponse](s, "Contacts.UpdateWithContext", ctx, update)
			equal(readContact(s, email).Unsubscribed, unsubscribed)
		}
	})
	s.check("Contacts.Update", "an unknown contact is 404", func() {
		s.refused(404, "not_found", "Contacts.Update", &resend.UpdateContactRequest{Id: unknownID, FirstName: "Ada"})
	})
	removeContact(s, id)
}

func removingContacts(s *suite) {
	for method, byEmail := range map[string]bool{"Contacts.Remove": false, "Contacts.RemoveWithContext": true} {
		s.check(method, "removed, then 404", func() {
			email := contactAddress("removed")
			id := createContact(s, &resend.CreateContactRequest{Email: email})
			args := []any{&resend.RemoveContactOptions{Id: id}}
			if byEmail {
				args = []any{ctx, &resend.RemoveContactOptions{Id: email}}
			}
			equal(data[resend.RemoveContactResponse](s, method, args...), resend.RemoveContactResponse{Id: id, Object: "contact", Deleted: true})
			s.refused(404, "not_found", "Contacts.Get", &resend.GetContactOptions{Id: id})
			s.refused(404, "not_found", method, args...)
		})
	}
}

// contactsInAudience checks the paths below /audiences/{id}/contacts. The SDK uses them if AudienceId is given.
func contactsInAudience(s *suite, audience string) {
	s.check("Contacts.Create", "into an audience, read, changed and removed there", func() {
		email := contactAddress("audience")
		id := createContact(s, &resend.CreateContactRequest{AudienceId: audience, Email: email})
		page := data[resend.ListContactsResponse](s, "Contacts.List", &resend.ListContactsOptions{AudienceId: audience})
		equal([]any{len(page.Data), page.Data[0].Id}, []any{1, id})
		for _, update := range []*resend.UpdateContactRequest{
			{AudienceId: audience, Id: id, FirstName: "by id"}, {AudienceId: audience, Email: email, FirstName: "by email"},
		} {
			data[resend.UpdateContactResponse](s, "Contacts.Update", update)
			equal(data[resend.Contact](s, "Contacts.Get", &resend.GetContactOptions{AudienceId: audience, Id: email}).FirstName, update.FirstName)
		}
		s.refused(404, "not_found", "Contacts.Get", &resend.GetContactOptions{AudienceId: unknownID, Id: id})
		response := data[resend.RemoveContactResponse](s, "Contacts.Remove", &resend.RemoveContactOptions{AudienceId: audience, Id: email})
		equal([]any{response.Object, response.Deleted}, []any{"contact", true})
		s.refused(404, "not_found", "Contacts.Get", &resend.GetContactOptions{Id: id})
	})
}

func contactImports(s *suite) {
	csv := &resend.CreateContactImportRequest{File: []byte("email\none@example.net\n"), OnConflict: "skip"}
	all := &resend.ListContactImportsOptions{Status: "completed"}
	for method, args := range map[string][]any{
		"Create": {csv}, "CreateWithContext": {ctx, csv}, "List": {all}, "ListWithContext": {ctx, all},
		"Get": {unknownID}, "GetWithContext": {ctx, unknownID},
	} {
		s.mustFail(404, "not_found", "no CSV import", "Contacts.Imports."+method, args...)
	}
}
