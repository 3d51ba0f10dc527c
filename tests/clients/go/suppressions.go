//go:build !older

package main

import "github.com/resend/resend-go/v3"

func suppressions(s *suite) {
	one, two, nobody := suppressed("one"), suppressed("two"), suppressed("nobody")
	var id, otherID string
	s.check("Suppressions.Add", "an address; a repeat returns the same id", func() {
		add := &resend.AddSuppressionRequest{Email: one}
		added := data[resend.AddSuppressionResponse](s, "Suppressions.Add", add)
		equal(added.Object, "suppression")
		equal(data[resend.AddSuppressionResponse](s, "Suppressions.Add", add), added)
		id = added.Id
		s.refused(422, "validation_error", "Suppressions.Add", &resend.AddSuppressionRequest{Email: "not an address"})
	})
	s.check("Suppressions.AddWithContext", "another", func() {
		add := &resend.AddSuppressionRequest{Email: two}
		otherID = data[resend.AddSuppressionResponse](s, "Suppressions.AddWithContext", ctx, add).Id
	})
	for method, args := range map[string][]any{"Suppressions.Get": {id}, "Suppressions.GetWithContext": {ctx, one}} {
		s.check(method, "by id, by email", func() {
			read := data[resend.Suppression](s, method, args...)
			equal(read, resend.Suppression{Object: "suppression", Id: id, Email: one, Origin: "manual", CreatedAt: read.CreatedAt})
			truth(timestamp.MatchString(read.CreatedAt), read)
		})
	}
	s.check("Suppressions.Get", "an unknown id or email is 404", func() {
		equal(s.refused(404, "not_found", "Suppressions.Get", unknownID), "Suppression not found")
		s.refused(404, "not_found", "Suppressions.Get", nobody)
	})
	all := (*resend.ListSuppressionsOptions)(nil)
	for method, args := range map[string][]any{"Suppressions.List": {all}, "Suppressions.ListWithContext": {ctx, all}} {
		s.check(method, "newest first", func() {
			page := data[resend.ListSuppressionsResponse](s, method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Id}, []string{"list", otherID, id})
		})
	}
	s.check("Suppressions.List", "limit, cursors and origin", func() {
		list := func(options *resend.ListSuppressionsOptions) resend.ListSuppressionsResponse {
			return data[resend.ListSuppressionsResponse](s, "Suppressions.List", options)
		}
		equal(list(&resend.ListSuppressionsOptions{Limit: ref(1), After: &otherID}).Data[0].Id, id)
		equal(list(&resend.ListSuppressionsOptions{Limit: ref(1), Before: &id}).Data[0].Id, otherID)
		equal(list(&resend.ListSuppressionsOptions{Limit: ref(1), Origin: resend.SuppressionOriginManual}).Data[0].Id, otherID)
		for _, row := range list(&resend.ListSuppressionsOptions{Origin: resend.SuppressionOriginBounce}).Data {
			equal(row.Origin, resend.SuppressionOriginBounce)
		}
	})
	for method, args := range map[string][]any{"Suppressions.Remove": {id}, "Suppressions.RemoveWithContext": {ctx, two}} {
		s.check(method, "removed, then 404", func() {
			response := data[resend.RemoveSuppressionResponse](s, method, args...)
			equal([]any{response.Object, response.Deleted}, []any{"suppression", true})
			s.refused(404, "not_found", "Suppressions.Get", response.Id)
			s.refused(404, "not_found", method, args...)
		})
	}
	s.check("Suppressions.Get", "the opt-out of a deleted contact has the origin unsubscribe", func() {
		gone := suppressed("gone")
		removeContact(s, createContact(s, &resend.CreateContactRequest{Email: gone, Unsubscribed: true}))
		equal(data[resend.Suppression](s, "Suppressions.Get", gone).Origin, "unsubscribe")
		data[resend.RemoveSuppressionResponse](s, "Suppressions.Remove", gone)
	})
	suppressionBatches(s)
}

func suppressed(name string) string { return "go-" + name + "@suppressed.example.net" }

func suppressionBatches(s *suite) {
	emails := []string{suppressed("a"), suppressed("b")}
	add := &resend.BatchAddSuppressionsRequest{Emails: emails}
	for method, args := range map[string][]any{"Suppressions.Batch.Add": {add}, "Suppressions.Batch.AddWithContext": {ctx, add}} {
		s.check(method, "ids in the order of the request", func() {
			for index, row := range data[resend.BatchAddSuppressionsResponse](s, method, args...).Data {
				equal(row, resend.AddSuppressionResponse{Object: "suppression", Id: data[resend.Suppression](s, "Suppressions.Get", emails[index]).Id})
			}
		})
	}
	s.check("Suppressions.Batch.Remove", "by emails; unknown ones are left out", func() {
		batch := &resend.BatchRemoveSuppressionsRequest{Emails: []string{emails[0], suppressed("nobody")}}
		response := data[resend.BatchRemoveSuppressionsResponse](s, "Suppressions.Batch.Remove", batch)
		equal([]any{len(response.Data), response.Data[0].Object, response.Data[0].Deleted}, []any{1, "suppression", true})
	})
	s.check("Suppressions.Batch.RemoveWithContext", "by ids", func() {
		id := data[resend.Suppression](s, "Suppressions.Get", emails[1]).Id
		batch := &resend.BatchRemoveSuppressionsRequest{Ids: []string{id, unknownID}}
		response := data[resend.BatchRemoveSuppressionsResponse](s, "Suppressions.Batch.RemoveWithContext", ctx, batch)
		equal(response.Data, []resend.RemoveSuppressionResponse{{Object: "suppression", Id: id, Deleted: true}})
	})
}
