package main

import (
	"slices"

	"github.com/resend/resend-go/v3"
)

const domainName = "go-client.example.org"

func domains(s *suite) {
	noPage := (*resend.ListOptions)(nil)
	remove := func(id string) { equal(data[bool](s, "Domains.Remove", id), true) }
	create := newDomain(domainName)
	var id string
	for method, args := range map[string][]any{"Domains.Create": {create}, "Domains.CreateWithContext": {ctx, create}} {
		s.check(method, "a new domain with its records", func() {
			if id != "" {
				remove(id)
			}
			created := data[resend.CreateDomainResponse](s, method, args...)
			id = created.Id
			equal([]string{created.Name, created.Status, created.Region}, []string{domainName, "not_started", "us-east-1"})
			assertRecords(created.Records)
		})
	}
	s.check("Domains.Create", "a name that is already registered is 403", func() {
		equal(s.refused(403, "validation_error", "Domains.Create", create), "The "+domainName+" domain has been registered already.")
	})
	for method, args := range map[string][]any{"Domains.List": {}, "Domains.ListWithContext": {ctx}, "Domains.ListWithOptions": {ctx, noPage}} {
		s.check(method, "rows without records", func() {
			page := data[resend.ListDomainsResponse](s, method, args...)
			equal(page.Object, "list")
			ready := slices.IndexFunc(page.Data, func(row resend.Domain) bool { return row.Name == "example.com" })
			equal(page.Data[ready].Status, "verified")
			equal([]any{page.Data[0].Id, len(page.Data[0].Records)}, []any{id, 0})
			truth(timestamp.MatchString(page.Data[0].CreatedAt), page.Data[0])
		})
	}
	s.check("Domains.ListWithOptions", "limit and cursors", func() {
		list := func(options *resend.ListOptions) resend.ListDomainsResponse {
			return data[resend.ListDomainsResponse](s, "Domains.ListWithOptions", ctx, options)
		}
		newest := list(&resend.ListOptions{Limit: ref(1)})
		equal([]any{newest.HasMore, newest.Data[0].Id}, []any{true, id})
		older := list(&resend.ListOptions{Limit: ref(1), After: &id}).Data[0].Id
		equal(list(&resend.ListOptions{Limit: ref(1), Before: &older}).Data[0].Id, id)
	})
	for method, args := range map[string][]any{"Domains.Get": {id}, "Domains.GetWithContext": {ctx, id}} {
		s.check(method, "the domain with its records", func() {
			domain := data[resend.Domain](s, method, args...)
			equal([]string{domain.Object, domain.Id, domain.Name}, []string{"domain", id, domainName})
			assertRecords(domain.Records)
		})
	}
	s.check("Domains.Get", "an unknown id is 404", func() {
		equal(s.refused(404, "not_found", "Domains.Get", unknownID), "Domain not found")
	})
	updatingDomains(s, id)
	for method, args := range map[string][]any{"Domains.Verify": {id}, "Domains.VerifyWithContext": {ctx, id}} {
		s.check(method, "starts a check", func() {
			equal(data[bool](s, method, args...), true)
			truth(data[resend.Domain](s, "Domains.Get", id).Status != "verified", "verified without any DNS")
		})
	}

	s.mustFail(422, "validation_error", "the TLS mode is not set per domain", "Domains.Update", id, &resend.UpdateDomainRequest{Tls: resend.Enforced})
	s.mustFail(422, "validation_error", "a region this server does not offer", "Domains.Create", &resend.CreateDomainRequest{Name: "eu.example.org", Region: "eu-west-1"})
	s.check("Domains.Remove", "removed, then 404", func() {
		remove(id)
		s.refused(404, "not_found", "Domains.Get", id)
	})
	s.check("Domains.RemoveWithContext", "removed, then 404", func() {
		again := data[resend.CreateDomainResponse](s, "Domains.Create", create)
		equal(data[bool](s, "Domains.RemoveWithContext", ctx, again.Id), true)
		s.refused(404, "not_found", "Domains.RemoveWithContext", ctx, again.Id)
	})
}

func assertRecords(records []resend.Record) {
	kinds := []string{}
	for _, row := range records {
		kinds = append(kinds, row.Record+" "+row.Type)
		truth(row.Name != "" && row.Value != "" && row.Ttl != "" && row.Status != "", row)
		equal(row.Priority != "", row.Type == "MX")
	}
	for _, kind := range []string{"SPF MX", "SPF TXT", "DKIM TXT"} {
		truth(slices.Contains(kinds, kind), kinds)
	}
}
