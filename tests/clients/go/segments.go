//go:build !older

package main

import "github.com/resend/resend-go/v3"

// segments checks segments under both names of the SDK: its audiences call the same paths.
func segments(s *suite) {
	for _, service := range []string{"Segments.", "Audiences."} {
		segmentsNamed(s, service)
	}
}

// contactSegments checks explicit membership with each form of the calls.
func contactSegments(s *suite, segment string) {
	const first, second = "go-first@members.example.net", "go-second@members.example.net"
	noPage := (*resend.ListOptions)(nil)
	create := func(email string) string {
		return data[resend.CreateContactResponse](s, "Contacts.Create", &resend.CreateContactRequest{Email: email}).Id
	}
	id, otherID := create(first), create(second)
	emails := func(options *resend.ListContactsOptions) []string {
		emails := []string{}
		for _, row := range data[resend.ListContactsResponse](s, "Contacts.List", options).Data {
			emails = append(emails, row.Email)
		}
		return emails
	}
	s.check("Contacts.Segments.Add", "by id; an unknown contact or segment is 404", func() {
		add := &resend.AddContactSegmentRequest{SegmentId: segment, ContactId: id}
		equal(data[resend.AddContactSegmentResponse](s, "Contacts.Segments.Add", add).Id, segment)
		s.refused(404, "not_found", "Contacts.Segments.Add", &resend.AddContactSegmentRequest{SegmentId: segment, ContactId: unknownID})
		s.refused(404, "not_found", "Contacts.Segments.Add", &resend.AddContactSegmentRequest{SegmentId: unknownID, ContactId: id})
	})
	s.check("Contacts.Segments.AddWithContext", "by email, twice", func() {
		for range 2 {
			add := &resend.AddContactSegmentRequest{SegmentId: segment, Email: second}
			equal(data[resend.AddContactSegmentResponse](s, "Contacts.Segments.AddWithContext", ctx, add).Id, segment)
		}
	})
	s.check("Contacts.List", "the members of a segment, newest first, limit and cursors", func() {
		equal(emails(&resend.ListContactsOptions{SegmentId: segment}), []string{second, first})
		equal(emails(&resend.ListContactsOptions{AudienceId: segment}), []string{second, first})
		equal(emails(&resend.ListContactsOptions{AudienceId: segment, Limit: ref(1), After: &otherID}), []string{first})
		equal(emails(&resend.ListContactsOptions{SegmentId: segment, Limit: ref(1), Before: &id}), []string{second})
		s.refused(404, "not_found", "Contacts.List", &resend.ListContactsOptions{SegmentId: unknownID})
	})
	byID, byEmail := &resend.ListContactSegmentsRequest{ContactId: id}, &resend.ListContactSegmentsRequest{Email: first}
	for method, args := range map[string][]any{
		"Contacts.Segments.List": {byID}, "Contacts.Segments.ListWithContext": {ctx, byEmail}, "Contacts.Segments.ListWithOptions": {ctx, byID, noPage},
	} {
		s.check(method, "the segments of a contact", func() {
			page := data[resend.ListContactSegmentsResponse](s, method, args...)
			equal([]any{page.Object, page.HasMore, len(page.Data), page.Data[0].Id}, []any{"list", false, 1, segment})
		})
	}
	removals := map[string][]any{
		"Contacts.Segments.Remove":            {&resend.RemoveContactSegmentRequest{SegmentId: segment, ContactId: id}},
		"Contacts.Segments.RemoveWithContext": {ctx, &resend.RemoveContactSegmentRequest{SegmentId: segment, Email: second}},
	}
	for method, args := range removals {
		s.check(method, "removed from the segment", func() {
			response := data[resend.RemoveContactSegmentResponse](s, method, args...)
			equal([]any{response.Id, response.Deleted}, []any{segment, true})
		})
	}
	s.check("Contacts.Segments.Remove", "the contacts stay", func() {
		equal(emails(&resend.ListContactsOptions{SegmentId: segment}), []string{})
		equal(data[resend.Contact](s, "Contacts.Get", &resend.GetContactOptions{Id: id}).Email, first)
	})
	for _, contact := range []string{id, otherID} {
		data[resend.RemoveContactResponse](s, "Contacts.Remove", &resend.RemoveContactOptions{Id: contact})
	}
}
