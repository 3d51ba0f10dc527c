//! A month of a sender: requests of people and of software whose origin is known, and the rates that are measured.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::{BROWSER, MINUTE_MS, TEAM, World, delivered_row, put_delivery};
use crate::base::id::EmailId;
use crate::emails::LastEvent;
use crate::engagement::{Hit, HitTarget};
use crate::events::EmailEventKind;
use crate::store::WriteTx;
use crate::tables::EMAILS;

const EMAILS_COUNT: usize = 3_000;
const LINKS: usize = 6;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS as u64;

const APPLE_PROXY: &str = "Mozilla/5.0";
const GMAIL_PREFETCH: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                              Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0";
const GOOGLE_PROXY: &str = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";
const YAHOO_PROXY: &str = "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html";
const OUTLOOK: &str = "Mozilla/4.0 (compatible; ms-office; MSOffice 16)";
const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 \
     Mobile/15E148 Safari/604.1";
const CHROME: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

/// Numbers that look random and are the same in every run: xorshift64 by Marsaglia.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    /// Returns true in `percent` of all cases.
    fn is(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// A request, with its time after delivery.
struct Request {
    at_ms: u64,
    agent: &'static str,
    /// `None` for the pixel.
    link: Option<usize>,
}

/// The requests for one email, and what a person did.
#[derive(Default)]
struct Story {
    requests: Vec<Request>,
    is_opened: bool,
    is_clicked: bool,
}

impl Story {
    fn add(&mut self, at_ms: u64, agent: &'static str, link: Option<usize>) {
        self.requests.push(Request { at_ms, agent, link });
    }

    /// A person loads the pixel, unless the client shows no images, and perhaps follows links, some of them on a phone.
    fn read(&mut self, numbers: &mut Numbers, client: Option<&'static str>, click_percent: u64) {
        // Half of all people read in the first three hours. One in 250 opens within the window of the rule of time.
        let hurry = numbers.within(0, 250);
        let delay_ms = match (hurry, numbers.is(50)) {
            (0, _) => numbers.within(4_000, 10_000),
            (_, true) => numbers.within(15_000, DAY_MS / 8),
            (_, false) => numbers.within(DAY_MS / 8, 20 * DAY_MS),
        };
        if let Some(client) = client {
            self.is_opened = true;
            self.add(delay_ms, client, None);
            if numbers.is(20) {
                self.add(delay_ms + numbers.within(DAY_MS / 24, DAY_MS), IPHONE, None);
            }
        }
        if numbers.is(click_percent) {
            (self.is_opened, self.is_clicked) = (true, true);
            let agent = if numbers.is(50) { IPHONE } else { BROWSER };
            let (first, at_ms) = (numbers.within(0, LINKS as u64), delay_ms + numbers.within(12_000, 90_000));
            self.add(at_ms, agent, Some(first as usize));
            if numbers.is(25) {
                let next = (first as usize + 1) % LINKS;
                self.add(at_ms + numbers.within(2_000, 60_000), agent, Some(next));
            }
        }
    }

    /// A gateway follows every link, a few milliseconds apart.
    fn scan(&mut self, numbers: &mut Numbers, from_ms: u64, agent: &'static str) {
        let mut at_ms = from_ms;
        for link in 0..LINKS {
            self.add(at_ms, agent, Some(link));
            at_ms += numbers.within(5, 200);
        }
    }

    fn new(numbers: &mut Numbers) -> Self {
        let mut story = Self::default();
        match numbers.within(0, 100) {
            // Apple Mail with its proxy: the pixel is loaded by the proxy alone, so that a person shows by a click alone.
            0..40 => {
                let at_ms = numbers.within(500, DAY_MS);
                story.add(at_ms, APPLE_PROXY, None);
                if numbers.is(30) {
                    story.read(numbers, None, 15);
                }
            }
            40..70 => {
                if numbers.is(15) {
                    let at_ms = numbers.within(200, 30_000);
                    story.add(at_ms, GMAIL_PREFETCH, None);
                }
                if numbers.is(40) {
                    story.read(numbers, Some(GOOGLE_PROXY), 20);
                }
            }
            // A company behind a gateway, which scans on arrival or later, under its name or as a browser.
            70..90 => {
                let from_ms = if numbers.is(70) { numbers.within(300, 7_000) } else { numbers.within(20_000, 600_000) };
                let agent = if numbers.is(30) { "BarracudaCentral/1.0" } else { CHROME };
                if from_ms < 10_000 {
                    story.add(from_ms, agent, None);
                }
                story.scan(numbers, from_ms, agent);
                if numbers.is(45) {
                    story.read(numbers, Some(OUTLOOK), 18);
                }
            }
            _ => {
                if numbers.is(40) {
                    let client = if numbers.is(50) { YAHOO_PROXY } else { BROWSER };
                    story.read(numbers, Some(client), 20);
                }
            }
        }
        story.requests.sort_by_key(|request| request.at_ms);
        story
    }
}

/// Stores delivered emails, some hundred in a transaction.
async fn put_emails(world: &World, ids: &[EmailId]) {
    for page in ids.chunks(300) {
        let (page, context, at_ms) = (page.to_vec(), world.context.clone(), world.delivered_ms);
        let write = move |tx: &WriteTx<'_>| {
            page.iter().try_for_each(|id| {
                let row = delivered_row(&["ada@example.net"]);
                tx.put(&EMAILS, &(TEAM, *id), &row)?;
                put_delivery(tx, &context, *id, &row, at_ms)
            })
        };
        world.context.commit(write).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rates_of_a_month_are_those_of_the_people() {
    let world = Arc::new(World::new());
    let mut numbers = Numbers(0x5eed_2026);
    let stories: Vec<(EmailId, Story)> =
        (0..EMAILS_COUNT).map(|_| (world.context.id(), Story::new(&mut numbers))).collect();
    let ids: Vec<EmailId> = stories.iter().map(|(id, _)| *id).collect();
    put_emails(&world, &ids).await;
    let truth: Vec<(EmailId, bool, bool)> =
        stories.iter().map(|(id, story)| (*id, story.is_opened, story.is_clicked)).collect();

    // The requests for one email come one after another, those for different emails at once.
    let mut running = JoinSet::new();
    for (id, story) in stories {
        let world = Arc::clone(&world);
        running.spawn(async move {
            for Request { at_ms, agent, link } in story.requests {
                let target =
                    link.map_or(HitTarget::Pixel, |link| HitTarget::Link(format!("https://example.org/{link}")));
                let hit = Hit { user_agent: agent.into(), ..world.hit(id, target, i64::try_from(at_ms).unwrap()) };
                world.engagement.record(hit).await.unwrap();
            }
        });
        if running.len() >= 256 {
            running.join_next().await.unwrap().unwrap();
        }
    }
    running.join_all().await;

    let (mut opened, mut clicked, mut software) = (0_usize, 0_usize, 0_usize);
    for (id, is_opened, is_clicked) in &truth {
        let (status, _) = world.status(*id);
        let (has_open, has_click) = (status >= LastEvent::Opened, status == LastEvent::Clicked);
        opened += usize::from(has_open);
        clicked += usize::from(has_click);
        let kinds = world.kinds(*id);
        software += kinds.iter().filter(|(kind, _)| *kind == EmailEventKind::Prefetched).count();
        let counts = |kind| kinds.iter().any(|(recorded, _)| *recorded == kind);
        assert_eq!((has_open, has_click), (counts(EmailEventKind::Opened), counts(EmailEventKind::Clicked)));
        assert!(*is_opened || !has_open, "software counts as an open: {kinds:?}");
        assert!(*is_clicked || !has_click, "software counts as a click: {kinds:?}");
    }
    let expected_opened = truth.iter().filter(|(_, is_opened, _)| *is_opened).count();
    let expected_clicked = truth.iter().filter(|(_, _, is_clicked)| *is_clicked).count();
    assert!(expected_opened > EMAILS_COUNT / 10 && software > EMAILS_COUNT, "{expected_opened} and {software}");
    assert!(opened.abs_diff(expected_opened) * 100 <= expected_opened, "{opened} opens of {expected_opened}");
    assert!(clicked.abs_diff(expected_clicked) * 100 <= expected_clicked, "{clicked} clicks of {expected_clicked}");
    assert_eq!(super::record::unique(&world), (opened as u64, clicked as u64));
}
