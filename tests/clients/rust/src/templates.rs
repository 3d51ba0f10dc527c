//! Templates: drafts and published versions, and the emails that are rendered from them.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    CreateEmailBaseOptions, CreateTemplateOptions, Email, EmailTemplate, TemplateEvent, UpdateTemplateOptions,
    Variable, VariableType,
};
use serde_json::Value;

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};
use crate::emails::FROM;

const ALIAS: &str = "rust-welcome";
const SUBJECT: &str = "Welcome {{{NAME}}}";
const HTML: &str = "<p>Hello {{{NAME}}}, you have {{{COUNT|no}}} letters</p>";
const TEXT: &str = "Hello {{{NAME}}}, you have {{{COUNT|no}}} letters";

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let id = call!(suite, client, templates.create(source().with_alias(ALIAS)))?.id;
    reads(suite, client, &id).await;
    refusals(suite, client).await;
    versions(suite, client, &id).await;
    sends(suite, client).await;
    suite
        .check("templates.delete", "by alias, then 404", async {
            let deleted = call!(suite, client, templates.delete(ALIAS))?;
            same((&*deleted.id, deleted.deleted), (&*id, true))?;
            refused(404, "not_found", call!(suite, client, templates.get(&id)))?;
            Ok(())
        })
        .await;
    Ok(())
}

fn source() -> CreateTemplateOptions {
    CreateTemplateOptions::new("Rust welcome", HTML).with_subject(SUBJECT).with_text(TEXT)
}

async fn reads(suite: &Suite, client: &Resend, id: &str) {
    suite
        .check("templates.get", "every field, by id and by alias; an unknown id is 404", async {
            for key in [id, ALIAS] {
                let template = call!(suite, client, templates.get(key))?;
                same((&*template.id, template.alias.as_deref()), (id, Some(ALIAS)))?;
                same((template.name.as_str(), template.status), ("Rust welcome", TemplateEvent::Draft))?;
                same(template.subject.as_deref(), Some(SUBJECT))?;
                same((template.html.as_deref(), template.text.as_deref()), (Some(HTML), Some(TEXT)))?;
                same((template.from, template.reply_to, template.published_at), (None, None, None))?;
                same(template.variables.len(), 0)?;
            }
            refused(404, "not_found", call!(suite, client, templates.get(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("templates.list", "newest first, limit and cursors", async {
            let other = call!(suite, client, templates.create(source()))?.id;
            let page = call!(suite, client, templates.list(ListOptions::default().with_limit(2)))?;
            same([&*page[0].id, &*page[1].id], [&*other, id])?;
            let options = ListOptions::default().with_limit(1).list_after(&other);
            same(&*call!(suite, client, templates.list(options))?[0].id, id)?;
            let options = ListOptions::default().with_limit(1).list_before(id);
            same(&*call!(suite, client, templates.list(options))?[0].id, &*other)?;
            same(call!(suite, client, templates.delete(&other))?.deleted, true)
        })
        .await;
}

async fn refusals(suite: &Suite, client: &Resend) {
    suite
        .check("templates.create", "an alias that is taken is 409", async {
            let taken = source().with_alias(ALIAS);
            refused(409, "validation_error", call!(suite, client, templates.create(taken)))?;
            Ok(())
        })
        .await;
    let variable = Variable::new("NAME", VariableType::String).with_fallback("you");
    for (note, template) in [
        ("a template does not store from", source().with_from(FROM)),
        ("a template does not store reply_to", source().with_reply_to("reply@example.com")),
        ("a template does not store variables", source().with_variable(variable)),
    ] {
        let result = call!(suite, client, templates.create(template));
        suite.must_fail("templates.create", note, 422, "validation_error", result);
    }
}

/// Returns an email with the template, without a subject of its own.
fn email(variables: &[(&str, Value)]) -> CreateEmailBaseOptions {
    email_of(ALIAS, variables)
}

fn email_of(template: &str, variables: &[(&str, Value)]) -> CreateEmailBaseOptions {
    let template = variables
        .iter()
        .fold(EmailTemplate::new(template), |template, (key, value)| template.with_variable(key, value.clone()));
    CreateEmailBaseOptions::new(FROM, ["one@example.net"], "").with_template(template)
}

async fn rendered(suite: &Suite, client: &Resend, variables: &[(&str, Value)]) -> Checked<Email> {
    let id = call!(suite, client, emails.send(email(variables)))?.id;
    Ok(call!(suite, client, emails.get(&id))?)
}

async fn versions(suite: &Suite, client: &Resend, id: &str) {
    let ada = [("NAME", Value::from("Ada"))];
    suite
        .check("templates.publish", "by alias; before it, a send is 422", async {
            refused(422, "validation_error", call!(suite, client, emails.send(email(&ada))))?;
            same(&*call!(suite, client, templates.publish(ALIAS))?.id, id)?;
            let template = call!(suite, client, templates.get(id))?;
            same((template.status, template.published_at.is_some()), (TemplateEvent::Published, true))
        })
        .await;
    suite
        .check("templates.update", "the published version keeps sending until the next one", async {
            let update = UpdateTemplateOptions::new("Rust letter", "<p>Dear {{{NAME}}}</p>");
            same(&*call!(suite, client, templates.update(ALIAS, update))?.id, id)?;
            let html = rendered(suite, client, &ada).await?.html.unwrap_or_default();
            ensure!(html.contains("Hello Ada, you have no letters"), "{html}");
            call!(suite, client, templates.publish(id))?;
            let html = rendered(suite, client, &ada).await?.html.unwrap_or_default();
            ensure!(html.contains("Dear Ada"), "{html}");
            let back = UpdateTemplateOptions::new("Rust welcome", HTML);
            call!(suite, client, templates.update(id, back))?;
            call!(suite, client, templates.publish(id))?;
            Ok(())
        })
        .await;
    suite
        .check("templates.duplicate", "a draft without the alias", async {
            let copy = call!(suite, client, templates.duplicate(ALIAS))?.id;
            let template = call!(suite, client, templates.get(&copy))?;
            same((template.alias, template.status), (None, TemplateEvent::Draft))?;
            same((template.html.as_deref(), template.text.as_deref()), (Some(HTML), Some(TEXT)))?;
            call!(suite, client, templates.delete(&copy))?;
            Ok(())
        })
        .await;
}

async fn sends(suite: &Suite, client: &Resend) {
    suite
        .check("emails.send", "a template: escaped in html, raw in text, and its subject", async {
            let variables = [("NAME", Value::from("<b>Ada & Co</b>")), ("COUNT", Value::from(3))];
            let email = rendered(suite, client, &variables).await?;
            let (html, text) = (email.html.unwrap_or_default(), email.text.unwrap_or_default());
            ensure!(html.contains("Hello &lt;b&gt;Ada &amp; Co&lt;/b&gt;, you have 3 letters"), "{html}");
            ensure!(text.contains("Hello <b>Ada & Co</b>, you have 3 letters"), "{text}");
            same(email.subject.as_str(), "Welcome <b>Ada & Co</b>")
        })
        .await;
    suite
        .check("emails.send", "a missing value is 422, an unknown template 404", async {
            let message = refused(422, "validation_error", call!(suite, client, emails.send(email(&[]))))?;
            ensure!(message.contains("NAME"), "{message}");
            let unknown = email_of(UNKNOWN_ID, &[]);
            let message = refused(404, "not_found", call!(suite, client, emails.send(unknown)))?;
            same(message.as_str(), "Template not found")
        })
        .await;
    suite
        .check("batch.send", "templates with different values", async {
            let items = ["Ada", "Bob"].map(|name| email(&[("NAME", Value::from(name))]));
            let sent = call!(suite, client, batch.send(items.to_vec()))?;
            for (row, name) in sent.iter().zip(["Ada", "Bob"]) {
                let text = call!(suite, client, emails.get(&row.id))?.text.unwrap_or_default();
                ensure!(text.starts_with(&format!("Hello {name},")), "{text}");
            }
            Ok(())
        })
        .await;
}
