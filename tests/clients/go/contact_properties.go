//go:build !older

package main

import "github.com/resend/resend-go/v3"

// contactProperties checks the service under both paths of the SDK.
func contactProperties(s *suite) {
	for _, service := range []string{"ContactProperties.", "Contacts.Properties."} {
		contactPropertiesOf(s, service)
	}
}

func contactPropertiesOf(s *suite, service string) {
	noPage := (*resend.ListOptions)(nil)
	get := func(id string) resend.ContactProperty { return data[resend.ContactProperty](s, service+"Get", id) }
	var text, number string
	s.check(service+"Create", "a string with a fallback", func() {
		create := &resend.CreateContactPropertyRequest{Key: "go_plan", Type: "string", FallbackValue: "free"}
		created := data[resend.CreateContactPropertyResponse](s, service+"Create", create)
		equal(created.Object, "contact_property")
		text = created.Id
	})
	s.check(service+"CreateWithContext", "a number with a fallback", func() {
		create := &resend.CreateContactPropertyRequest{Key: "go_seats", Type: "number", FallbackValue: 5}
		created := data[resend.CreateContactPropertyResponse](s, service+"CreateWithContext", ctx, create)
		truth(uuid.MatchString(created.Id), created)
		number = created.Id
	})
	s.check(service+"Create", "a key that exists is 409, a fallback of the wrong type 422", func() {
		create := func(key, kind string, fallback any) *resend.CreateContactPropertyRequest {
			return &resend.CreateContactPropertyRequest{Key: key, Type: kind, FallbackValue: fallback}
		}
		s.refused(409, "validation_error", service+"Create", create("go_plan", "string", nil))
		s.refused(422, "validation_error", service+"Create", create("go_kind", "number", "many"))
		s.refused(422, "validation_error", service+"Create", create("go_kind", "date", nil))
	})
	for method, args := range map[string][]any{"List": {}, "ListWithContext": {ctx}, "ListWithOptions": {ctx, noPage}} {
		s.check(service+method, "newest first", func() {
			page := data[resend.ListContactPropertiesResponse](s, service+method, args...)
			equal([]string{page.Object, page.Data[0].Id, page.Data[1].Id}, []string{"list", number, text})
			truth(timestamp.MatchString(page.Data[0].CreatedAt), page.Data[0])
		})
	}
	s.check(service+"ListWithOptions", "limit and cursors", func() {
		list := func(options *resend.ListOptions) string {
			return data[resend.ListContactPropertiesResponse](s, service+"ListWithOptions", ctx, options).Data[0].Id
		}
		equal(list(&resend.ListOptions{Limit: ref(1), After: &number}), text)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &text}), number)
	})
	for method, args := range map[string][]any{"Get": {number}, "GetWithContext": {ctx, number}} {
		s.check(service+method, "every field", func() {
			property := data[resend.ContactProperty](s, service+method, args...)
			equal(property, resend.ContactProperty{
				Id: number, Key: "go_seats", Object: "contact_property", CreatedAt: property.CreatedAt, Type: "number", FallbackValue: "5",
			})
		})
	}
	s.check(service+"Get", "an unknown id is 404", func() {
		equal(s.refused(404, "not_found", service+"Get", unknownID), "Contact property not found")
	})
	s.check(service+"Update", "another fallback", func() {
		update := &resend.UpdateContactPropertyRequest{Id: number, FallbackValue: 7.5}
		equal(data[resend.UpdateContactPropertyResponse](s, service+"Update", update).Id, number)
		equal(get(number).FallbackValue, "7.5")
	})
	s.check(service+"UpdateWithContext", "nil clears it", func() {
		update := &resend.UpdateContactPropertyRequest{Id: number}
		equal(data[resend.UpdateContactPropertyResponse](s, service+"UpdateWithContext", ctx, update).Object, "contact_property")
		equal(get(number).FallbackValue, nil)
	})
	for method, args := range map[string][]any{"Remove": {text}, "RemoveWithContext": {ctx, number}} {
		s.check(service+method, "removed, then 404", func() {
			id := args[len(args)-1]
			equal(data[resend.RemoveContactPropertyResponse](s, service+method, args...),
				resend.RemoveContactPropertyResponse{Id: id.(string), Object: "contact_property", Deleted: true})
			s.refused(404, "not_found", service+"Get", id)
		})
	}
}
