from check import IS_OLDER, TIMESTAMP, UNKNOWN_ID, UUID, assert_equal, assert_fields, assert_matches

STATUSES = {"not_started", "pending", "partially_verified", "partially_failed", "failed"}


def run(suite):
    name = f"python-{suite.label}.example.org"
    created = {}

    def create():
        created.update(
            suite.data(
                "domains.create",
                {
                    "name": name,
                    "region": "us-east-1",
                    "custom_return_path": "bounce",
                    "open_tracking": False,
                    "click_tracking": False,
                },
            )
        )
        assert_matches(UUID, created["id"])
        assert_matches(TIMESTAMP, created["created_at"])
        expected = {
            "object": "domain",
            "name": name,
            "status": "not_started",
            "region": "us-east-1",
            "capabilities": {"sending": "enabled", "receiving": "disabled"},
            "open_tracking": False,
            "click_tracking": False,
        }
        assert_fields(created, **expected)
        assert_records(created["records"])

    suite.check("domains.create", "a new domain with its records", create)
    if not created:
        return
    domain_id = created["id"]

    def refused():
        again = suite.refused(403, "validation_error", "domains.create", {"name": name})
        assert_equal(again.message, f"The {name} domain has been registered already.")
        assert_equal(
            suite.refused(422, "missing_required_field", "domains.create", {}).message, "Missing `name` field."
        )

    def listed():
        page = suite.data("domains.list")
        assert IS_OLDER or page["object"] == "list", page
        assert_equal([row["status"] for row in page["data"] if row["name"] == "example.com"], ["verified"])
        assert all(row.get("records") is None for row in page["data"])
        if IS_OLDER:  # It sends no query.
            assert_equal(page["data"][0]["id"], domain_id)
            return
        newest = suite.data("domains.list", {"limit": 1})
        assert_equal((newest["has_more"], newest["data"][0]["id"]), (True, domain_id))
        older = suite.data("domains.list", {"limit": 1, "after": domain_id})["data"][0]
        assert_equal(older["id"], page["data"][1]["id"])
        assert_equal(suite.data("domains.list", {"limit": 1, "before": older["id"]})["data"][0]["id"], domain_id)

    def read():
        domain = suite.data("domains.get", domain_id)
        assert_fields(domain, object="domain", id=domain_id, name=name)
        assert_records(domain["records"])
        assert_equal(suite.refused(404, "not_found", "domains.get", UNKNOWN_ID).message, "Domain not found")

    def update():
        response = suite.data(
            "domains.update",
            {"id": domain_id, "open_tracking": True, "click_tracking": True, "tracking_subdomain": "links"},
        )
        assert_fields(response, object="domain", id=domain_id)
        domain = suite.data("domains.get", domain_id)
        assert_fields(domain, id=domain_id, open_tracking=True, click_tracking=True, tracking_subdomain="links")
        suite.data("domains.update", {"id": domain_id, "open_tracking": False})
        domain = suite.data("domains.get", domain_id)
        assert_fields(domain, id=domain_id, open_tracking=False, click_tracking=True)

    def verify():
        response = suite.data("domains.verify", domain_id)
        assert_fields(response, object="domain", id=domain_id)
        status = suite.data("domains.get", domain_id)["status"]
        assert status in STATUSES, status

    def remove():
        assert_fields(suite.data("domains.remove", domain_id), object="domain", id=domain_id, deleted=True)
        suite.refused(404, "not_found", "domains.get", domain_id)

    suite.check("domains.create", "a name that is already registered is 403, no name 422", refused)
    suite.check("domains.list", "rows without records, limit and cursors", listed)
    suite.check("domains.get", "the domain with its records; an unknown id is 404", read)
    suite.check("domains.update", "tracking on, then open tracking off", update)
    suite.check("domains.verify", "starts a check", verify)
    for row in (
        (
            422,
            "validation_error",
            "the TLS mode is not set per domain",
            "domains.update",
            {"id": domain_id, "tls": "enforced"},
        ),
        (
            422,
            "validation_error",
            "a region this server does not offer",
            "domains.create",
            {"name": "eu.example.org", "region": "eu-west-1"},
        ),
        (404, "not_found", "no domain claims", "domains.Claims.create", {"name": "claim.example.org"}),
        (404, "not_found", "no domain claims", "domains.Claims.get", domain_id),
        (404, "not_found", "no domain claims", "domains.Claims.verify", domain_id),
    ):
        suite.must_fail(*row)
    suite.check("domains.remove", "removed, then 404", remove)


def assert_records(records):
    kinds = {f"{row['record']} {row['type']}" for row in records}
    assert {"SPF MX", "SPF TXT", "DKIM TXT"} <= kinds, kinds
    for row in records:
        assert row["record"] in ("SPF", "DKIM", "Tracking"), row
        assert row["name"] and row["value"] and row["ttl"] and row["status"], row
        assert_equal(isinstance(row.get("priority"), int), row["type"] == "MX")
