package main

import "github.com/resend/resend-go/v3"

// segmentsNamed checks a service of segments. Both names of the service have the same types.
func segmentsNamed(s *suite, service string) {
	noPage := (*resend.ListOptions)(nil)
	create := func(name string) resend.CreateAudienceResponse {
		return data[resend.CreateAudienceResponse](s, service+"Create", &resend.CreateAudienceRequest{Name: name})
	}
	var id, other string
	s.check(service+"Create", "a segment without a filter; no name is 422", func() {
		created := create("Go " + service)
		equal([]string{created.Object, created.Name}, []string{segmentObject, "Go " + service})
		truth(uuid.MatchString(created.Id), created)
		id = created.Id
		s.refused(422, "validation_error", service+"Create", &resend.CreateAudienceRequest{})
	})
	s.check(service+"CreateWithContext", "another", func() {
		request := &resend.CreateAudienceRequest{Name: "Go other"}
		other = data[resend.CreateAudienceResponse](s, service+"CreateWithContext", ctx, request).Id
	})
	for method, args := range map[string][]any{"List": {}, "ListWithContext": {ctx}, "ListWithOptions": {ctx, noPage}} {
		s.check(service+method, "newest first", func() {
			page := data[resend.ListAudiencesResponse](s, service+method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Id}, []string{"list", other, id})
			truth(timestamp.MatchString(page.Data[0].CreatedAt), page.Data[0])
		})
	}
	s.check(service+"ListWithOptions", "limit and cursors", func() {
		list := func(options *resend.ListOptions) resend.ListAudiencesResponse {
			return data[resend.ListAudiencesResponse](s, service+"ListWithOptions", ctx, options)
		}
		newest := list(&resend.ListOptions{Limit: ref(1)})
		equal([]any{newest.HasMore, newest.Data[0].Id}, []any{true, other})
		equal(list(&resend.ListOptions{Limit: ref(1), After: &other}).Data[0].Id, id)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &id}).Data[0].Id, other)
	})
	for method, args := range map[string][]any{"Get": {id}, "GetWithContext": {ctx, id}} {
		s.check(service+method, "every field the SDK has", func() {
			segment := data[resend.Audience](s, service+method, args...)
			equal(segment, resend.Audience{Id: id, Name: "Go " + service, Object: segmentObject, CreatedAt: segment.CreatedAt})
		})
	}
	s.check(service+"Get", "an unknown id is 404, a malformed one 422", func() {
		s.refused(404, "not_found", service+"Get", unknownID)
		s.refused(422, "validation_error", service+"Get", "not-an-id")
	})
	members(s, id)
	for method, args := range map[string][]any{"Remove": {id}, "RemoveWithContext": {ctx, other}} {
		s.check(service+method, "removed, then 404", func() {
			segment := args[len(args)-1].(string)
			equal(data[resend.RemoveAudienceResponse](s, service+method, args...),
				resend.RemoveAudienceResponse{Id: segment, Object: segmentObject, Deleted: true})
			s.refused(404, "not_found", service+"Get", segment)
		})
	}
}
