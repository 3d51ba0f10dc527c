package main

import "github.com/resend/resend-go/v3"

// segments checks segments under both names of the SDK: its audiences call the same paths.
func segments(s *suite) {
	for _, service := range []string{"Segments.", "Audiences."} {
		segmentsNamed(s, service)
	}
}

func segmentsNamed(s *suite, service string) {
	noPage := (*resend.ListOptions)(nil)
	create := func(name string) resend.CreateSegmentResponse {
		return data[resend.CreateSegmentResponse](s, service+"Create", &resend.CreateSegmentRequest{Name: name})
	}
	var id, other string
	s.check(service+"Create", "a segment without a filter; no name is 422", func() {
		created := create("Go " + service)
		equal([]string{created.Object, created.Name}, []string{"segment", "Go " + service})
		truth(uuid.MatchString(created.Id), created)
		id = created.Id
		s.refused(422, "validation_error", service+"Create", &resend.CreateSegmentRequest{})
	})
	s.check(service+"CreateWithContext", "another", func() {
		request := &resend.CreateSegmentRequest{Name: "Go other"}
		other = data[resend.CreateSegmentResponse](s, service+"CreateWithContext", ctx, request).Id
	})
	for method, args := range map[string][]any{"List": {}, "ListWithContext": {ctx}, "ListWithOptions": {ctx, noPage}} {
		s.check(service+method, "newest first", func() {
			page := data[resend.ListSegmentsResponse](s, service+method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Id}, []string{"list", other, id})
			truth(timestamp.MatchString(page.Data[0].CreatedAt), page.Data[0])
		})
	}
	s.check(service+"ListWithOptions", "limit and cursors", func() {
		list := func(options *resend.ListOptions) resend.ListSegmentsResponse {
			return data[resend.ListSegmentsResponse](s, service+"ListWithOptions", ctx, options)
		}
		newest := list(&resend.ListOptions{Limit: ref(1)})
		equal([]any{newest.HasMore, newest.Data[0].Id}, []any{true, other})
		equal(list(&resend.ListOptions{Limit: ref(1), After: &other}).Data[0].Id, id)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &id}).Data[0].Id, other)
	})
	for method, args := range map[string][]any{"Get": {id}, "GetWithContext": {ctx, id}} {
		s.check(service+method, "every field the SDK has", func() {
			segment := data[resend.Segment](s, service+method, args...)
			equal(segment, resend.Segment{Id: id, Name: "Go " + service, Object: "segment", CreatedAt: segment.CreatedAt})
		})
	}
	s.check(service+"Get", "an unknown id is 404, a malformed one 422", func() {
		s.refused(404, "not_found", service+"Get", unknownID)
		s.refused(422, "validation_error", service+"Get", "not-an-id")
	})
	contactSegments(s, id)
	for method, args := range map[string][]any{"Remove": {id}, "RemoveWithContext": {ctx, other}} {
		s.check(service+method, "removed, then 404", func() {
			segment := args[len(args)-1].(string)
			equal(data[resend.RemoveSegmentResponse](s, service+method, args...),
				resend.RemoveSegmentResponse{Id: segment, Object: "segment", Deleted: true})
			s.refused(404, "not_found", service+"Get", segment)
		})
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
