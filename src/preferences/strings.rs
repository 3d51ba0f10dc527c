//! All sentences of the page in all languages.
//!
//! A sentence may contain the placeholders `{address}`, `{topic}` and `{brand}`; it contains the same ones in
//! every language. Sentences are plain text and are escaped when the placeholders are replaced.

use maud::{Markup, html};

/// The sentences of one language.
#[derive(Debug)]
pub(super) struct PageStrings {
    /// Language tag (RFC 5646), for `lang` and `Content-Language`.
    pub(super) tag: &'static str,
    /// Heading of the page of a topic link.
    pub(super) ask_topic: &'static str,
    pub(super) receives_topic: &'static str,
    pub(super) unsubscribe_topic: &'static str,
    /// Heading for a deleted topic, whose name is not stored any more.
    pub(super) ask_these: &'static str,
    pub(super) unsubscribe_these: &'static str,
    /// Heading of a page without topics.
    pub(super) ask_everything: &'static str,
    pub(super) receives_everything: &'static str,
    pub(super) unsubscribe_everything: &'static str,
    pub(super) everything_note: &'static str,
    pub(super) nothing_yet: &'static str,
    /// Heading of the page with choices, and text of the link to that page.
    pub(super) preferences: &'static str,
    pub(super) choose: &'static str,
    pub(super) topics: &'static str,
    pub(super) save: &'static str,
    pub(super) saved: &'static str,
    pub(super) unsubscribed: &'static str,
    pub(super) unsubscribed_topic: &'static str,
    pub(super) unsubscribed_these: &'static str,
    pub(super) unsubscribed_everything: &'static str,
    pub(super) undo: &'static str,
    pub(super) subscribed_again: &'static str,
    /// Heading of the page of an invalid link.
    pub(super) unknown: &'static str,
    pub(super) unknown_why: &'static str,
    pub(super) unknown_next: &'static str,
    /// Heading of the page of a request that could not be processed.
    pub(super) failed: &'static str,
    pub(super) failed_next: &'static str,
}

pub(super) static ENGLISH: PageStrings = PageStrings {
    tag: "en",
    ask_topic: "Unsubscribe from {topic}?",
    receives_topic: "{address} receives emails about {topic}.",
    unsubscribe_topic: "Unsubscribe from {topic}",
    ask_these: "Unsubscribe from these emails?",
    unsubscribe_these: "Unsubscribe from these emails",
    ask_everything: "Unsubscribe from {brand}?",
    receives_everything: "{address} receives emails from {brand}.",
    unsubscribe_everything: "Unsubscribe from everything",
    everything_note: "This stops every newsletter and offer from {brand}. \
                      Messages you need, such as receipts, may still arrive.",
    nothing_yet: "Nothing changes until you press the button.",
    preferences: "Email preferences",
    choose: "Choose which emails {address} receives from {brand}.",
    topics: "Emails you can receive",
    save: "Save choices",
    saved: "Your choices have been saved.",
    unsubscribed: "You are unsubscribed",
    unsubscribed_topic: "{address} will get no more emails about {topic}.",
    unsubscribed_these: "{address} will get no more emails of this kind from {brand}.",
    unsubscribed_everything: "{address} will get no more newsletters or offers from {brand}.",
    undo: "Undo",
    subscribed_again: "You are subscribed again.",
    unknown: "This link does not work",
    unknown_why: "It may be incomplete, or what it was about may be gone. Nothing has been changed.",
    unknown_next: "Follow the link in the email once more, or write to its sender.",
    failed: "Something went wrong",
    failed_next: "Nothing has been changed. Please try again in a moment.",
};

pub(super) static GERMAN: PageStrings = PageStrings {
    tag: "de",
    ask_topic: "{topic} abbestellen?",
    receives_topic: "{address} erhält E-Mails zum Thema {topic}.",
    unsubscribe_topic: "{topic} abbestellen",
    ask_these: "Diese E-Mails abbestellen?",
    unsubscribe_these: "Diese E-Mails abbestellen",
    ask_everything: "E-Mails von {brand} abbestellen?",
    receives_everything: "{address} erhält E-Mails von {brand}.",
    unsubscribe_everything: "Alles abbestellen",
    everything_note: "Damit erhalten Sie keine Newsletter und Angebote von {brand} mehr. \
                      Nötige Nachrichten wie Rechnungen können weiterhin kommen.",
    nothing_yet: "Es ändert sich nichts, bevor Sie auf die Schaltfläche klicken.",
    preferences: "E-Mail-Einstellungen",
    choose: "Wählen Sie, welche E-Mails {address} von {brand} erhält.",
    topics: "E-Mails, die Sie erhalten können",
    save: "Auswahl speichern",
    saved: "Ihre Auswahl ist gespeichert.",
    unsubscribed: "Sie sind abgemeldet",
    unsubscribed_topic: "{address} erhält keine E-Mails zum Thema {topic} mehr.",
    unsubscribed_these: "{address} erhält keine E-Mails dieser Art von {brand} mehr.",
    unsubscribed_everything: "{address} erhält keine Newsletter und Angebote von {brand} mehr.",
    undo: "Rückgängig machen",
    subscribed_again: "Sie sind wieder angemeldet.",
    unknown: "Dieser Link funktioniert nicht",
    unknown_why: "Er ist vielleicht unvollständig, oder das, worum es ging, gibt es nicht mehr. \
                  Es wurde nichts geändert.",
    unknown_next: "Folgen Sie dem Link in der E-Mail noch einmal, oder schreiben Sie dem Absender.",
    failed: "Etwas ist schiefgegangen",
    failed_next: "Es wurde nichts geändert. Bitte versuchen Sie es gleich noch einmal.",
};

pub(super) static FRENCH: PageStrings = PageStrings {
    tag: "fr",
    ask_topic: "Se désabonner de {topic}\u{a0}?",
    receives_topic: "{address} reçoit des e-mails sur le sujet {topic}.",
    unsubscribe_topic: "Se désabonner de {topic}",
    ask_these: "Se désabonner de ces e-mails\u{a0}?",
    unsubscribe_these: "Se désabonner de ces e-mails",
    ask_everything: "Se désabonner de {brand}\u{a0}?",
    receives_everything: "{address} reçoit des e-mails de {brand}.",
    unsubscribe_everything: "Se désabonner de tout",
    everything_note: "Ce bouton arrête toutes les lettres d’information et les offres de {brand}. \
                      Les messages nécessaires, comme les factures, peuvent encore arriver.",
    nothing_yet: "Rien ne change tant que vous n’avez pas appuyé sur le bouton.",
    preferences: "Préférences e-mail",
    choose: "Choisissez les e-mails que {address} reçoit de {brand}.",
    topics: "E-mails que vous pouvez recevoir",
    save: "Enregistrer mes choix",
    saved: "Vos choix sont enregistrés.",
    unsubscribed: "Désabonnement effectué",
    unsubscribed_topic: "{address} ne recevra plus d’e-mails sur le sujet {topic}.",
    unsubscribed_these: "{address} ne recevra plus d’e-mails de ce type de la part de {brand}.",
    unsubscribed_everything: "{address} ne recevra plus ni lettres d’information ni offres de {brand}.",
    undo: "Annuler",
    subscribed_again: "Votre abonnement est rétabli.",
    unknown: "Ce lien ne fonctionne pas",
    unknown_why: "Il est peut-être incomplet, ou ce qu’il concernait n’existe plus. Rien n’a été modifié.",
    unknown_next: "Suivez encore une fois le lien de l’e-mail, ou écrivez à son expéditeur.",
    failed: "Une erreur est survenue",
    failed_next: "Rien n’a été modifié. Veuillez réessayer dans un instant.",
};

pub(super) static SPANISH: PageStrings = PageStrings {
    tag: "es",
    ask_topic: "¿Darse de baja de {topic}?",
    receives_topic: "{address} recibe correos sobre {topic}.",
    unsubscribe_topic: "Darse de baja de {topic}",
    ask_these: "¿Darse de baja de estos correos?",
    unsubscribe_these: "Darse de baja de estos correos",
    ask_everything: "¿Darse de baja de {brand}?",
    receives_everything: "{address} recibe correos de {brand}.",
    unsubscribe_everything: "Darse de baja de todo",
    everything_note: "Con esto no recibirá más boletines ni ofertas de {brand}. \
                      Los mensajes necesarios, como los recibos, pueden seguir llegando.",
    nothing_yet: "No cambia nada hasta que pulse el botón.",
    preferences: "Preferencias de correo",
    choose: "Elija qué correos recibe {address} de {brand}.",
    topics: "Correos que puede recibir",
    save: "Guardar la selección",
    saved: "Su selección se ha guardado.",
    unsubscribed: "Se ha dado de baja",
    unsubscribed_topic: "{address} no recibirá más correos sobre {topic}.",
    unsubscribed_these: "{address} no recibirá más correos de este tipo de {brand}.",
    unsubscribed_everything: "{address} no recibirá más boletines ni ofertas de {brand}.",
    undo: "Deshacer",
    subscribed_again: "Su suscripción vuelve a estar activa.",
    unknown: "Este enlace no funciona",
    unknown_why: "Puede que esté incompleto o que aquello a lo que llevaba ya no exista. No se ha cambiado nada.",
    unknown_next: "Siga otra vez el enlace del correo o escriba a quien se lo envió.",
    failed: "Algo ha fallado",
    failed_next: "No se ha cambiado nada. Inténtelo de nuevo dentro de un momento.",
};

pub(super) static PORTUGUESE: PageStrings = PageStrings {
    tag: "pt",
    ask_topic: "Cancelar a inscrição em {topic}?",
    receives_topic: "{address} recebe e-mails sobre {topic}.",
    unsubscribe_topic: "Cancelar a inscrição em {topic}",
    ask_these: "Cancelar a inscrição nestes e-mails?",
    unsubscribe_these: "Cancelar a inscrição nestes e-mails",
    ask_everything: "Cancelar os e-mails de {brand}?",
    receives_everything: "{address} recebe e-mails de {brand}.",
    unsubscribe_everything: "Cancelar todas as inscrições",
    everything_note: "Com isso, você não receberá mais boletins nem ofertas de {brand}. \
                      Mensagens necessárias, como recibos, ainda podem chegar.",
    nothing_yet: "Nada muda até que você pressione o botão.",
    preferences: "Preferências de e-mail",
    choose: "Escolha quais e-mails {address} recebe de {brand}.",
    topics: "E-mails que você pode receber",
    save: "Salvar escolhas",
    saved: "Suas escolhas foram salvas.",
    unsubscribed: "Inscrição cancelada",
    unsubscribed_topic: "{address} não receberá mais e-mails sobre {topic}.",
    unsubscribed_these: "{address} não receberá mais e-mails deste tipo de {brand}.",
    unsubscribed_everything: "{address} não receberá mais boletins nem ofertas de {brand}.",
    undo: "Desfazer",
    subscribed_again: "Sua inscrição está ativa novamente.",
    unknown: "Este link não funciona",
    unknown_why: "Ele pode estar incompleto, ou aquilo de que tratava pode não existir mais. Nada foi alterado.",
    unknown_next: "Siga o link do e-mail mais uma vez ou escreva para o remetente.",
    failed: "Algo deu errado",
    failed_next: "Nada foi alterado. Tente novamente daqui a pouco.",
};

pub(super) static DUTCH: PageStrings = PageStrings {
    tag: "nl",
    ask_topic: "Afmelden voor {topic}?",
    receives_topic: "{address} ontvangt e-mails over {topic}.",
    unsubscribe_topic: "Afmelden voor {topic}",
    ask_these: "Afmelden voor deze e-mails?",
    unsubscribe_these: "Afmelden voor deze e-mails",
    ask_everything: "Afmelden voor e-mails van {brand}?",
    receives_everything: "{address} ontvangt e-mails van {brand}.",
    unsubscribe_everything: "Voor alles afmelden",
    everything_note: "Hiermee ontvangt u geen nieuwsbrieven en aanbiedingen van {brand} meer. \
                      Berichten die u nodig hebt, zoals bonnen, kunnen nog wel komen.",
    nothing_yet: "Er verandert niets totdat u op de knop drukt.",
    preferences: "E-mailvoorkeuren",
    choose: "Kies welke e-mails {address} van {brand} ontvangt.",
    topics: "E-mails die u kunt ontvangen",
    save: "Keuzes opslaan",
    saved: "Uw keuzes zijn opgeslagen.",
    unsubscribed: "U bent afgemeld",
    unsubscribed_topic: "{address} ontvangt geen e-mails over {topic} meer.",
    unsubscribed_these: "{address} ontvangt dit soort e-mails van {brand} niet meer.",
    unsubscribed_everything: "{address} ontvangt geen nieuwsbrieven en aanbiedingen van {brand} meer.",
    undo: "Ongedaan maken",
    subscribed_again: "U bent weer aangemeld.",
    unknown: "Deze link werkt niet",
    unknown_why: "Misschien is hij onvolledig, of bestaat datgene waar het om ging niet meer. Er is niets veranderd.",
    unknown_next: "Volg de link in de e-mail nog een keer, of schrijf de afzender.",
    failed: "Er is iets misgegaan",
    failed_next: "Er is niets veranderd. Probeer het zo dadelijk opnieuw.",
};

/// All languages. The default language is first.
pub(super) static LANGUAGES: [&PageStrings; 6] = [&ENGLISH, &GERMAN, &FRENCH, &SPANISH, &PORTUGUESE, &DUTCH];

/// Values of the placeholders.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlaceholderValues<'a> {
    pub(super) address: &'a str,
    pub(super) topic: &'a str,
    pub(super) brand: &'a str,
}

impl<'a> PlaceholderValues<'a> {
    fn of(&self, name: &str) -> Option<&'a str> {
        match name {
            "address" => Some(self.address),
            "topic" => Some(self.topic),
            "brand" => Some(self.brand),
            _ => None,
        }
    }

    /// Returns a sentence as plain text, for example for a title.
    pub(super) fn text(&self, sentence: &str) -> String {
        self.parts(sentence).map(|part| part.text()).collect()
    }

    /// Returns a sentence as HTML. Values are in `bdi` elements, because the writing direction of a name may
    /// differ from that of the sentence.
    pub(super) fn html(&self, sentence: &str) -> Markup {
        html! {
            @for part in self.parts(sentence) {
                @match part {
                    SentencePart::Plain(text) => (text),
                    SentencePart::Value(value) => bdi { (value) },
                }
            }
        }
    }

    /// Splits a sentence at its placeholders. The values are not searched for placeholders.
    fn parts<'s>(&self, sentence: &'s str) -> impl Iterator<Item = SentencePart<'s>>
    where
        'a: 's,
    {
        let values = *self;
        let mut rest = sentence;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            if let Some((name, after)) = rest.strip_prefix('{').and_then(|open| open.split_once('}'))
                && let Some(value) = values.of(name)
            {
                rest = after;
                return Some(SentencePart::Value(value));
            }
            // A brace that starts no placeholder is plain text.
            let end = rest.char_indices().skip(1).find(|(_, c)| *c == '{').map_or(rest.len(), |(at, _)| at);
            let (plain, after) = rest.split_at(end);
            rest = after;
            Some(SentencePart::Plain(plain))
        })
    }
}

enum SentencePart<'a> {
    Plain(&'a str),
    Value(&'a str),
}

impl<'a> SentencePart<'a> {
    fn text(&self) -> &'a str {
        match self {
            Self::Plain(text) | Self::Value(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every sentence with the name of its field. A new field must be added here.
    fn sentences(strings: &PageStrings) -> Vec<(&'static str, &'static str)> {
        macro_rules! listed {
            ($($field:ident),+ $(,)?) => {{
                let PageStrings { tag: _, $($field),+ } = strings;
                vec![$((stringify!($field), *$field)),+]
            }};
        }
        listed!(
            ask_topic,
            receives_topic,
            unsubscribe_topic,
            ask_these,
            unsubscribe_these,
            ask_everything,
            receives_everything,
            unsubscribe_everything,
            everything_note,
            nothing_yet,
            preferences,
            choose,
            topics,
            save,
            saved,
            unsubscribed,
            unsubscribed_topic,
            unsubscribed_these,
            unsubscribed_everything,
            undo,
            subscribed_again,
            unknown,
            unknown_why,
            unknown_next,
            failed,
            failed_next,
        )
    }

    fn placeholders(sentence: &str) -> Vec<&str> {
        let mut found: Vec<&str> =
            sentence.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn every_language_has_every_sentence_with_the_same_placeholders() {
        let english = sentences(&ENGLISH);
        for strings in LANGUAGES {
            for ((field, sentence), (_, original)) in sentences(strings).into_iter().zip(&english) {
                let tag = strings.tag;
                assert!(!sentence.trim().is_empty(), "{tag} has no {field}");
                assert_eq!(sentence.trim(), sentence, "{tag} {field}");
                assert!(!sentence.contains("  "), "{tag} {field}: {sentence}");
                assert_eq!(placeholders(sentence), placeholders(original), "{tag} {field}");
                assert_eq!(sentence.matches('{').count(), placeholders(sentence).len(), "{tag} {field}");
                assert!(placeholders(sentence).iter().all(|name| PlaceholderValues::default().of(name).is_some()));
                if tag != "en" {
                    assert_ne!(sentence, *original, "{tag} {field} is English");
                }
            }
        }
    }

    #[test]
    fn each_language_has_a_tag_of_its_own() {
        let mut tags: Vec<&str> = LANGUAGES.iter().map(|strings| strings.tag).collect();
        tags.sort_unstable();
        tags.dedup();

        assert_eq!(tags.len(), LANGUAGES.len());
        assert!(tags.iter().all(|tag| tag.len() == 2 && tag.bytes().all(|byte| byte.is_ascii_lowercase())));
    }

    #[test]
    fn values_are_escaped_and_not_searched_for_placeholders() {
        let values = PlaceholderValues { address: "{topic}", topic: "<b>&{brand}", brand: "\"{x}'" };

        let html = values.html("{address} & {topic} {unknown} {brand} {").into_string();

        assert_eq!(html, "<bdi>{topic}</bdi> &amp; <bdi>&lt;b&gt;&amp;{brand}</bdi> {unknown} <bdi>&quot;{x}'</bdi> {");
        assert_eq!(values.text("{topic}: {brand}"), "<b>&{brand}: \"{x}'");
    }
}
