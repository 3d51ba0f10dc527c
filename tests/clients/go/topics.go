//go:build !older

package main

import "github.com/resend/resend-go/v3"

func topics(s *suite) {
	noPage := (*resend.ListOptions)(nil)
	var news, offers string
	s.check("Topics.Create", "opt in, with a description", func() {
		create := &resend.CreateTopicRequest{Name: "Go news", DefaultSubscription: resend.DefaultSubscriptionOptIn, Description: "What is new"}
		news = data[*resend.CreateTopicResponse](s, "Topics.Create", create).Id
		truth(uuid.MatchString(news), news)
	})
	s.check("Topics.CreateWithContext", "opt out", func() {
		create := &resend.CreateTopicRequest{Name: "Go offers", DefaultSubscription: resend.DefaultSubscriptionOptOut}
		offers = data[*resend.CreateTopicResponse](s, "Topics.CreateWithContext", ctx, create).Id
	})
	s.check("Topics.Create", "no name and no default are 422", func() {
		s.refused(422, "validation_error", "Topics.Create", &resend.CreateTopicRequest{DefaultSubscription: resend.DefaultSubscriptionOptIn})
		s.refused(422, "validation_error", "Topics.Create", &resend.CreateTopicRequest{Name: "Go"})
	})
	for method, args := range map[string][]any{"Topics.List": {noPage}, "Topics.ListWithContext": {ctx, noPage}} {
		s.check(method, "newest first, every field", func() {
			page := data[*resend.ListTopicsResponse](s, method, args...)
			equal(page.Object, "list")
			equal(*page.Data[0], resend.Topic{Id: offers, Name: "Go offers", DefaultSubscription: "opt_out", CreatedAt: page.Data[0].CreatedAt})
			truth(timestamp.MatchString(page.Data[0].CreatedAt), page.Data[0])
		})
	}
	s.check("Topics.List", "limit and cursors", func() {
		list := func(options *resend.ListOptions) *resend.ListTopicsResponse {
			return data[*resend.ListTopicsResponse](s, "Topics.List", options)
		}
		newest := list(&resend.ListOptions{Limit: ref(1)})
		equal([]any{newest.HasMore, newest.Data[0].Id}, []any{true, offers})
		equal(list(&resend.ListOptions{Limit: ref(1), After: &offers}).Data[0].Id, news)
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &news}).Data[0].Id, offers)
	})
	for method, args := range map[string][]any{"Topics.Get": {news}, "Topics.GetWithContext": {ctx, news}} {
		s.check(method, "every field", func() {
			topic := data[*resend.Topic](s, method, args...)
			equal(*topic, resend.Topic{
				Id: news, Name: "Go news", Description: "What is new", DefaultSubscription: "opt_in", CreatedAt: topic.CreatedAt,
			})
		})
	}
	s.check("Topics.Get", "an unknown id is 404", func() {
		equal(s.refused(404, "not_found", "Topics.Get", unknownID), "Topic not found")
	})
	for method, args := range map[string][]any{
		"Topics.Update":            {news, &resend.UpdateTopicRequest{Name: "Go letters"}},
		"Topics.UpdateWithContext": {ctx, news, &resend.UpdateTopicRequest{Description: "Once a month"}},
	} {
		s.check(method, "changed", func() { equal(data[*resend.UpdateTopicResponse](s, method, args...).Id, news) })
	}
	s.check("Topics.Update", "both changes are stored", func() {
		topic := data[*resend.Topic](s, "Topics.Get", news)
		equal([]string{topic.Name, topic.Description}, []string{"Go letters", "Once a month"})
	})
	contactTopics(s, news, offers)
	for method, args := range map[string][]any{"Topics.Remove": {news}, "Topics.RemoveWithContext": {ctx, offers}} {
		s.check(method, "removed, then 404", func() {
			id := args[len(args)-1].(string)
			equal(*data[*resend.RemoveTopicResponse](s, method, args...), resend.RemoveTopicResponse{Object: "topic", Id: id, Deleted: true})
			s.refused(404, "not_found", "Topics.Get", id)
		})
	}
}

// contactTopics checks the topic choices of one contact by its id and by its email.
func contactTopics(s *suite, news, offers string) {
	const email = "go-topics@customer.example.net"
	noPage := (*resend.ListOptions)(nil)
	create := &resend.CreateContactRequest{Email: email, Topics: []resend.TopicSubscriptionUpdate{{Id: offers, Subscription: "opt_in"}}}
	id := data[resend.CreateContactResponse](s, "Contacts.Create", create).Id
	chosen := func(page resend.ListContactTopicsResponse) [2]string {
		equal([]any{page.Object, page.HasMore}, []any{"list", false})
		choices := map[string]string{}
		for _, row := range page.Data {
			choices[row.Id] = row.Subscription
		}
		return [2]string{choices[news], choices[offers]}
	}
	for method, args := range map[string][]any{
		"Contacts.Topics.List": {id}, "Contacts.Topics.ListWithContext": {ctx, email}, "Contacts.Topics.ListWithOptions": {ctx, id, noPage},
	} {
		s.check(method, "the default without a choice", func() {
			equal(chosen(data[resend.ListContactTopicsResponse](s, method, args...)), [2]string{"opt_in", "opt_in"})
		})
	}
	s.check("Contacts.Topics.List", "an unknown contact is 404", func() {
		equal(s.refused(404, "not_found", "Contacts.Topics.List", unknownID), "Contact not found")
	})
	s.check("Contacts.Topics.Update", "by id", func() {
		update := &resend.UpdateContactTopicsRequest{Id: id, Topics: []resend.TopicSubscriptionUpdate{{Id: news, Subscription: "opt_out"}}}
		equal(data[resend.UpdateContactTopicsResponse](s, "Contacts.Topics.Update", update).Id, id)
		equal(chosen(data[resend.ListContactTopicsResponse](s, "Contacts.Topics.List", id)), [2]string{"opt_out", "opt_in"})
	})
	s.check("Contacts.Topics.UpdateWithContext", "by email; an unknown topic is 404", func() {
		update := &resend.UpdateContactTopicsRequest{Email: email, Topics: []resend.TopicSubscriptionUpdate{{Id: offers, Subscription: "opt_out"}}}
		equal(data[resend.UpdateContactTopicsResponse](s, "Contacts.Topics.UpdateWithContext", ctx, update).Id, id)
		equal(chosen(data[resend.ListContactTopicsResponse](s, "Contacts.Topics.List", email)), [2]string{"opt_out", "opt_out"})
		update.Topics[0].Id = unknownID
		s.refused(404, "not_found", "Contacts.Topics.UpdateWithContext", ctx, update)
	})
	data[resend.RemoveContactResponse](s, "Contacts.Remove", &resend.RemoveContactOptions{Id: id})
}
